import { appendFileSync, renameSync, statSync } from 'node:fs';

const LEVELS = ['debug', 'info', 'warning', 'error'] as const;
export type Level = (typeof LEVELS)[number];

const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Writes lines of text for people, or of JSON for programs. Keeps one older file, so that the log never fills the disk.
 */
export class Log {
  private readonly file: string;
  private readonly least: number;
  private readonly isJson: boolean;

  constructor(file: string, level: string | undefined, format?: string) {
    this.file = file;
    this.isJson = format === 'json';
    const known = LEVELS.indexOf(level as Level);
    this.least = known < 0 ? LEVELS.indexOf('info') : known;
    if (known < 0 && level)
      this.write(
        'warning',
        `MCP_LOG_LEVEL is ${JSON.stringify(level)}, which is not one of ${LEVELS.join(', ')}; using info`,
      );
  }

  write(level: Level, message: string, cause?: unknown): void {
    if (LEVELS.indexOf(level) < this.least) return;
    const time = new Date().toISOString();
    const why = cause === undefined ? null : describe(cause);
    const line = this.isJson
      ? JSON.stringify({ time, level, message, ...(why !== null && { cause: why }) })
      : `${time} ${level.padEnd(7)} ${indented(why === null ? message : `${message}: ${why}`)}`;
    try {
      this.rotate();
      appendFileSync(this.file, `${line}\n`, { mode: 0o600 });
    } catch {} // a full disk must not make the hub fail because of its log
  }

  private rotate(): void {
    const size = statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > MAX_BYTES) renameSync(this.file, `${this.file}.1`);
  }
}

/** Lines inside a message are indented, so that none of them looks like a line of the log. */
const indented = (text: string): string => text.replace(/\r\n?|[\n\u0085\u2028\u2029]/g, '\n  ');

/** Includes the stack, which is shown only in the log. */
function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? '' : `\nbecause ${describe(cause.cause)}`;
  return `${cause.stack ?? cause.message}${inner}`;
}
