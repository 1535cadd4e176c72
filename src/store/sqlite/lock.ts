import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { sqliteFailure } from './failure.ts';

/** Only for the user's own eyes: tasks and answers are in it. A file or folder that was there keeps its mode. */
export function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    // Never opens a file that exists: closing it again would drop every lock this process holds on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
}

export interface Lock {
  release(): void;
}

/**
 * A lock the kernel gives back when its holder dies, however it dies. Null while another process has it.
 * Nothing else may open the file in the process that holds it: closing any handle on it would drop the lock.
 */
export function takeLock(file: string): Lock | null {
  const path = resolve(file);
  let handle: BetterSqlite3.Database | undefined;
  try {
    makeFile(path);
    handle = new BetterSqlite3(path, { timeout: 0 });
    // Not `begin exclusive`: two that ask at the same moment can each be in the other's way, and then neither gets it.
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
