import { now, nowFor } from './clock.ts';
import { shownAgo, shownDuration } from './figures.ts';

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Relative time; the exact time on hover. */
export function Ago({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exact.format(at)}>
      {shownAgo(at, nowFor(at).value)}
    </time>
  );
}

const shown = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A time on the clock of the reader. */
export const Time = ({ at }: { at: number }) => (
  <time dateTime={new Date(at).toISOString()} title={exact.format(at)}>
    {shown.format(at)}
  </time>
);

/** Duration from one time to another, or until now. */
export function Duration({ from, to }: { from: number | null; to?: number | null }) {
  if (from === null) return <span class="num faint">–</span>;
  const end = to ?? now.value;
  const title = `${exact.format(from)}${to ? ` – ${exact.format(to)}` : ''}`;
  return (
    <time class="num" dateTime={`PT${Math.max(0, Math.round((end - from) / 1000))}S`} title={title}>
      {shownDuration(end - from)}
    </time>
  );
}
