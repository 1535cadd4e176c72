import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

/** Replaces the file atomically: a reader, even after a crash, sees the old or the new content. */
export function replaceFile(path: string, content: string | Buffer, mode: number): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const file = openSync(draft, 'wx', mode);
    try {
      const bytes = Buffer.from(content);
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // The mode is set again, because the umask may have removed bits from the draft's mode.
    chmodSync(draft, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
