import { resolve } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { sqliteFailure } from './failure.ts';
import { makeFile } from './make-file.ts';

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
