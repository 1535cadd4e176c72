import { appendFileSync, renameSync, statSync } from 'node:fs';

const LEVELS = ['debug', 'info', 'warning', 'error'] as const;
export type Level = (typeof LEVELS)[number];

const LARGEST = 5 * 1024 * 1024;

/** A plain text log with one older generation: people read it, and it never fills a disk. */
export class Log {
  private readonly file: string;
  private readonly least: number;

  constructor(file: string, level: string | undefined) {
    this.file = file;
    const known = LEVELS.indexOf(level as Level);
    this.least = known < 0 ? LEVELS.indexOf('info') : known;
    if (known < 0 && level)
      this.write(
        'warning',
        `MCP_LOG_LEVEL is ${JSON.stringify(level)}, which is none of ${LEVELS.join(', ')}: taken as info`,
      );
  }

  write(level: Level, message: string, cause?: unknown): void {
    if (LEVELS.indexOf(level) < this.least) return;
    const why = cause === undefined ? '' : `: ${describe(cause)}`;
    try {
      this.rotate();
      const line = `${new Date().toISOString()} ${level.padEnd(7)} ${indented(`${message}${why}`)}\n`;
      appendFileSync(this.file, line, { mode: 0o600 });
    } catch {} // a full disk must not take the hub down over its own log
  }

  private rotate(): void {
    const size = statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LARGEST) renameSync(this.file, `${this.file}.1`);
  }
}

/** What a message quotes may have lines of its own: none of them looks like one of the log's. */
const indented = (text: string): string => text.replace(/\r\n?|[\n\u0085\u2028\u2029]/g, '\n  ');

/** The log is where a stack belongs: nowhere else is it shown. */
function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? '' : `\nbecause ${describe(cause.cause)}`;
  return `${cause.stack ?? cause.message}${inner}`;
}
