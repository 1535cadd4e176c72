import type { Terminal } from '../terminal/terminal.ts';
import { displayWidth, truncate } from '../terminal/width.ts';

/** Lines that stay, and below them a few that are redrawn. */
export interface StatusBlock {
  /** Prints a line for good. It may be longer than the screen is wide. */
  append(line: string): void;
  /** What the block shows may have changed. */
  changed(): void;
  /** Takes the block away and leaves the lines. */
  close(): void;
}

/** At most ten frames a second, and one now and then so that clocks move. */
const FRAME_MS = 100;
const TICK_MS = 250;

const BEGIN_FRAME = '\u001b[?2026h';
const END_FRAME = '\u001b[?2026l';
const ERASE_BELOW = '\u001b[J';
const up = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '');

/** `render` is asked for the block's lines each time it is drawn. On anything but a screen there is no block. */
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
      // After the end there is no block to keep below it.
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

  /** One column stays free: a full last column leaves the cursor in a place terminals do not agree on. */
  function visibleLines(): string[] {
    const lines = render().map(line => truncate(line, terminal.columns - 1));
    return lines.slice(-Math.max(1, terminal.rows - 1));
  }

  /** From the end of the block to its beginning. A window made narrower has folded its lines: count what they take now. */
  function erase(): string {
    if (shown.length === 0) return '';
    const rows = shown.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(displayWidth(line) / terminal.columns)),
      0,
    );
    return `\r${up(Math.min(rows, terminal.rows) - 1)}${ERASE_BELOW}`;
  }
}
