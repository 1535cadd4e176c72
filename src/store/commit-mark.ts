import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';

/** Newest commit that the database must contain. Stored outside the database, with the run folders. */
const Mark = z.object({
  /** Number and time of the last committed event. */
  seq: z.number(),
  at: z.number(),
  /** Path of the database file. */
  database: z.string(),
  /** Reason why the database must be rebuilt before it is used again. Null if it need not. */
  damage: z.string().nullable(),
  settings: z.record(z.string(), z.string()),
});
export type Mark = z.infer<typeof Mark>;

/** Width to which numbers are padded, so that they can be overwritten in place. */
const WIDTH = 16;

/**
 * A small file that shows when a database has lost commits. It is overwritten in place, without a sync, because it is written for
 * every commit. After a killed hub it is exact; after a power failure it may be older than the database.
 */
export class CommitMark {
  readonly file: string;
  #now: Mark | null = null;
  #fd: number | null = null;

  constructor(file: string) {
    this.file = file;
  }

  /** Reads the mark. Null if there is no readable one. */
  read(): Mark | null {
    try {
      return Mark.safeParse(JSON.parse(readFileSync(this.file, 'utf8'))).data ?? null;
    } catch {
      return null; // without a mark every run folder is compared, which is slower but equally safe
    }
  }

  /** Writes the mark. Throws if the file cannot be written. */
  replace(mark: Mark): void {
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    const { seq, at, ...rest } = mark;
    writeFileSync(`${this.file}.new`, head(seq, at) + JSON.stringify(rest).slice(1), { mode: 0o600 });
    const fd = openSync(`${this.file}.new`, 'r+');
    renameSync(`${this.file}.new`, this.file);
    this.close();
    this.#fd = fd;
    this.#now = mark;
  }

  committed(seq: number, at: number): void {
    if (this.#fd === null || !this.#now) return;
    Object.assign(this.#now, { seq, at });
    try {
      writeSync(this.#fd, head(seq, at), 0);
    } catch {
      // An outdated mark detects fewer lost commits. The commit itself is safe.
    }
  }

  settings(settings: Record<string, string>): void {
    if (this.#now) this.replace({ ...this.#now, settings });
  }

  damaged(why: string): void {
    if (this.#now && this.#now.damage === null) this.replace({ ...this.#now, damage: why });
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

const head = (seq: number, at: number): string =>
  `{"seq":${String(seq).padStart(WIDTH)},"at":${String(at).padStart(WIDTH)},`;
