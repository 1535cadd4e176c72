import { visibleLine } from '../../base/visible-text.ts';
import { isEnd } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { costOf, formatUsage, tokensOf, totalOf } from '../cost/figures.ts';
import { formatElapsed } from '../terminal/duration.ts';
import { quietWords } from '../terminal/quiet-word.ts';
import { countByStatus } from '../terminal/status-word.ts';
import type { Style } from '../terminal/style.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { displayWidth, padEnd, truncate } from '../terminal/width.ts';
import { labelWidth } from './run-lines.ts';
import type { RunView } from './run-view.ts';

const MOST_LINES = 8;
const SPINNER = ['◐', '◓', '◑', '◒'];

/** The live block: a line for each agent at work, as many as fit, and one with the whole. */
export function statusLines(
  runs: RunView[],
  now: number,
  { columns, rows }: Terminal,
  style: Style,
): string[] {
  if (runs.length === 0) return [];
  // Who waits for the user comes first: when not all fit, it is not they who are left out.
  const working = runs
    .filter(run => run.status === 'running')
    .sort((a, b) => Number(b.asks.length > 0) - Number(a.asks.length > 0));
  const shown = working.slice(0, Math.max(1, Math.min(MOST_LINES, rows - 2)));
  const width = labelWidth(shown);
  const spinner = SPINNER[Math.floor(now / 250) % SPINNER.length] ?? '';
  const lines = shown.map(run => {
    const name = style.role(run.roleId, padEnd(truncate(run.label, width), width));
    const elapsed = formatElapsed(now - (run.startedAt ?? now));
    const doing = doingNow(run, style);
    return spread(` ${style.role(run.roleId, spinner)} ${name}  ${doing}`, elapsed, columns);
  });
  return [...lines, wholeLine(runs, working.length - shown.length, now, columns, style)];
}

function doingNow(run: RunView, style: Style): string {
  const [asked] = run.asks;
  if (asked) return `${style.yellow('needs you:')} ${visibleLine(asked.question)}`;
  return run.quiet ? quietWords(run.quiet, style) : run.activity || style.dim('at work');
}

function wholeLine(runs: RunView[], hidden: number, now: number, columns: number, style: Style): string {
  const counts = countByStatus(runs.map(shownStatus), style);
  const asks = runs.flatMap(run => run.asks).length;
  const waiting = asks > 0 ? ` · ${style.yellow(`${asks} ${asks === 1 ? 'needs' : 'need'} you`)}` : '';
  const more = hidden > 0 ? style.dim(` · ${hidden} more not shown`) : '';
  const since = Math.min(...runs.map(run => run.startedAt ?? now), now);
  const ended = runs.filter(run => isEnd(run.status));
  const usage = formatUsage(
    totalOf(ended.map(run => tokensOf(run.usage))),
    costOf(ended.map(run => run.usage)),
  );
  return spread(` ${counts}${waiting}${more}`, [formatElapsed(now - since), ...usage].join(' · '), columns);
}

/** Left and right ends of a line; the left one gives way. */
function spread(left: string, right: string, columns: number): string {
  const room = columns - displayWidth(right) - 4;
  if (room < 10) return left;
  return `${padEnd(truncate(left, room), room)}  ${right}`;
}
