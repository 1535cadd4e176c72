import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { sqliteFailure } from './failure.ts';

/** Readable only by the user, because tasks and answers are in it. An existing file or folder keeps its mode. */
export function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    // Never opens an existing file: closing it again would drop every lock that this process holds on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
}

export interface Lock {
  release(): void;
}

/**
 * Takes a lock that the kernel releases when the process dies in any way. Returns null while another process holds the
 * lock. The process that holds it must not open the file elsewhere, because closing any handle on it would release the
 * lock.
 */
export function takeLock(file: string): Lock | null {
  const path = resolve(file);
  let handle: BetterSqlite3.Database | undefined;
  try {
    makeFile(path);
    handle = new BetterSqlite3(path, { timeout: 0 });
    // `begin exclusive` is not used, because two processes that try at the same moment can block each other, and then
    // neither gets the lock.
    handle.exec('begin immediate');
    const held = handle;
    return { release: () => void held.close() };
  } catch (thrown) {
    handle?.close();
    const failure = sqliteFailure(thrown, path);
    if (failure.kind === 'locked') return null;
    throw failure.error;
  }
}
