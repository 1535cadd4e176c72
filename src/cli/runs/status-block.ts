import { visibleLine } from '../../base/text.ts';
import { isEnd } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { costOf, formatUsage, tokensOf, totalOf } from '../cost/figures.ts';
import { formatElapsed } from '../terminal/duration.ts';
import { countByStatus, describeStall } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { displayWidth, padEnd, truncate } from '../terminal/width.ts';
import { labelWidth } from './run-lines.ts';
import type { RunView } from './run-view.ts';

/** Lines that scroll, with a block below them that is redrawn. */
export interface StatusBlock {
  /** Prints a line above the block. It may be longer than the screen is wide. */
  append(line: string): void;
  /** Redraws the block soon. */
  changed(): void;
  /** Removes the block and keeps the lines. */
  close(): void;
}

/** At most ten frames per second. One frame is drawn regularly, so that elapsed times advance. */
const FRAME_MS = 100;
const TICK_MS = 250;

const BEGIN_FRAME = '\u001b[?2026h';
const END_FRAME = '\u001b[?2026l';
const ERASE_BELOW = '\u001b[J';
const up = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '');

/** `render` returns the lines of the block each time the block is drawn. Without a terminal there is no block. */
export function openStatusBlock(terminal: Terminal, render: () => string[]): StatusBlock {
  if (!terminal.isTTY)
    return { append: line => terminal.write(`${line}\n`), changed: () => undefined, close: () => undefined };

  let pending = '';
  let shown: string[] = [];
  let lastFrame = Number.NEGATIVE_INFINITY;
  let lastColumns = terminal.columns;
  let next: NodeJS.Timeout | null = null;
  let closed = false;
  const clock = setInterval(schedule, TICK_MS);
  clock.unref();
  schedule();

  return {
    append(line) {
      if (closed) return terminal.write(`${line}\n`);
      pending += `${line}\n`;
      schedule();
    },
    changed: schedule,
    close() {
      if (closed) return;
      closed = true;
      clearInterval(clock);
      if (next) clearTimeout(next);
      draw([]);
    },
  };

  function schedule(): void {
    if (closed || next) return;
    const wait = lastFrame + FRAME_MS - performance.now();
    if (wait <= 0) draw(visibleLines());
    else next = setTimeout(frameDue, wait);
  }

  function frameDue(): void {
    next = null;
    draw(visibleLines());
  }

  function draw(lines: string[]): void {
    lastFrame = performance.now();
    const isSame =
      pending === '' && terminal.columns === lastColumns && lines.join('\n') === shown.join('\n');
    if (isSame) return;
    const frame = erase() + pending + lines.join('\n');
    pending = '';
    shown = lines;
    lastColumns = terminal.columns;
    terminal.write(BEGIN_FRAME + frame + END_FRAME);
  }

  /**
   * Lines of the block that fit on the screen. One column stays free, because terminals disagree on where the cursor
   * is after a full last column.
   */
  function visibleLines(): string[] {
    const lines = render().map(line => truncate(line, terminal.columns - 1));
    return lines.slice(-Math.max(1, terminal.rows - 1));
  }

  /**
   * Moves the cursor from the end of the block to its start. A narrower window has wrapped lines, so the rows are
   * counted at the current width.
   */
  function erase(): string {
    if (shown.length === 0) return '';
    const rows = shown.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(displayWidth(line) / terminal.columns)),
      0,
    );
    return `\r${up(Math.min(rows, terminal.rows) - 1)}${ERASE_BELOW}`;
  }
}

const MAX_LINES = 8;
const SPINNER = ['◐', '◓', '◑', '◒'];

/** The status block: a line for each running agent, as many as fit, and a line with the totals. */
export function statusLines(
  runs: RunView[],
  now: number,
  { columns, rows }: Terminal,
  style: Style,
): string[] {
  if (runs.length === 0) return [];
  // Agents that wait for the user come first, so that they are shown when not all fit.
  const working = runs
    .filter(run => run.status === 'running')
    .sort((a, b) => Number(b.asks.length > 0) - Number(a.asks.length > 0));
  const shown = working.slice(0, Math.max(1, Math.min(MAX_LINES, rows - 2)));
  const width = labelWidth(shown);
  const spinner = SPINNER[Math.floor(now / 250) % SPINNER.length] ?? '';
  const lines = shown.map(run => {
    const name = style.role(run.roleId, padEnd(truncate(run.label, width), width));
    const elapsed = formatElapsed(now - (run.startedAt ?? now));
    const doing = doingNow(run, style);
    return spread(` ${style.role(run.roleId, spinner)} ${name}  ${doing}`, elapsed, columns);
  });
  return [...lines, totalsLine(runs, working.length - shown.length, now, columns, style)];
}

function doingNow(run: RunView, style: Style): string {
  const [asked] = run.asks;
  if (asked) return `${style.yellow('needs you:')} ${visibleLine(asked.question)}`;
  return run.quiet ? describeStall(run.quiet, style) : run.activity || style.dim('running');
}

function totalsLine(runs: RunView[], hidden: number, now: number, columns: number, style: Style): string {
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

/** Aligns texts left and right; the left one is cut to fit. */
function spread(left: string, right: string, columns: number): string {
  const room = columns - displayWidth(right) - 4;
  if (room < 10) return left;
  return `${padEnd(truncate(left, room), room)}  ${right}`;
}
