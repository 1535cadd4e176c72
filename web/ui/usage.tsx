import type { Usage } from '../../src/schema/run.ts';
import { shownCount, shownMoney } from './figures.ts';

const whole = new Intl.NumberFormat();

/** Input and output tokens; a value that was not reported is unknown, never 0. */
export function Tokens({ usage }: { usage: Usage | null }) {
  if (usage === null || (usage.input === null && usage.output === null))
    return <Unknown why="No tokens reported" />;
  const said = [
    part('input', usage.input),
    part('of which cached', usage.cached),
    part('output', usage.output),
  ].filter(text => text !== null);
  return (
    <span class="num" title={said.join(' · ')}>
      {shownCount((usage.input ?? 0) + (usage.output ?? 0))}
    </span>
  );
}

export function Money({ usd, isEstimated = false }: { usd: number | null; isEstimated?: boolean }) {
  if (usd === null)
    return <Unknown why="The engine reported no cost, and the price of its model is unknown" />;
  return isEstimated ? (
    <span class="num" title="Estimated from a price list: the engine reports only tokens">
      ≈{shownMoney(usd)}
    </span>
  ) : (
    <span class="num">{shownMoney(usd)}</span>
  );
}

/** Number of added and removed lines. */
export function Lines({ lines }: { lines: { insertions: number; deletions: number } | null }) {
  if (lines === null) return <span class="num faint">–</span>;
  if (lines.insertions + lines.deletions === 0) return <span class="num faint">±0</span>;
  return (
    <span class="num lines">
      <span class="plus">+{lines.insertions}</span> <span class="minus">−{lines.deletions}</span>
    </span>
  );
}

function Unknown({ why }: { why: string }) {
  return (
    <span class="num faint" title={why}>
      unknown
    </span>
  );
}

const part = (name: string, count: number | null) =>
  count === null ? null : `${name} ${whole.format(count)}`;
