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
      appendFileSync(this.file, `${new Date().toISOString()} ${level.padEnd(7)} ${message}${why}\n`, {
        mode: 0o600,
      });
    } catch {} // a full disk must not take the hub down over its own log
  }

  private rotate(): void {
    const size = statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LARGEST) renameSync(this.file, `${this.file}.1`);
  }
}

/** The log is where a stack belongs: nowhere else is it shown. */
function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? '' : `\n  because ${describe(cause.cause)}`;
  return `${cause.stack ?? cause.message}${inner}`;
}
