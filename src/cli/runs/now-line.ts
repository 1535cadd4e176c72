import { formatClock } from '../terminal/duration.ts';
import { paintStatus, statusWord } from '../terminal/status-word.ts';
import type { Style } from '../terminal/style.ts';
import { padEnd, truncate } from '../terminal/width.ts';
import type { RunView } from './run-view.ts';

const WORD_WIDTH = 9;

/** A run that was there before the watching began, in the columns of what happens after: since when, who, what. */
export function nowLine(run: RunView, width: number, style: Style, columns: number): string {
  const since = run.startedAt === null ? ' '.repeat(8) : formatClock(run.startedAt);
  const origin = [run.engine, run.id].join(' · ');
  return truncate(
    [
      style.dim(since),
      style.role(run.roleId, padEnd(truncate(run.label, width), width)),
      paintStatus(run.status, padEnd(statusWord(run.status), WORD_WIDTH), style),
      [style.dim(origin), run.activity].filter(part => part !== '').join(style.dim(' · ')),
    ].join('  '),
    columns,
  );
}
