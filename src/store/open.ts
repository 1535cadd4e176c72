import { resolve } from 'node:path';
import type { PinStore } from '../core/ports/gateway.ts';
import type { MessageStore, Store } from '../core/ports/store.ts';
import type { Backend } from './backend.ts';
import { migrate } from './migrations.ts';
import { withRetry } from './retry.ts';
import { sqliteFailure } from './sqlite/failure.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import { storeOn } from './store.ts';

export const BUSY_RETRY_MS = 10_000;

export interface StoreOptions {
  file: string;
  /** Version of Squad, recorded with each migration. */
  version: string;
  /** How long to retry on a locked database or a full disk. */
  busyRetryMs?: number;
}

export async function openStore({
  file,
  version,
  busyRetryMs = BUSY_RETRY_MS,
}: StoreOptions): Promise<Store & PinStore & MessageStore> {
  return storeOn(await openBackend(resolve(file), version, busyRetryMs), busyRetryMs);
}

/** Opens and migrates. */
export function openBackend(path: string, version: string, windowMs: number): Promise<Backend> {
  const open = async () => {
    const backend = openSqlite(path);
    try {
      await migrate(backend, path, version);
      return backend;
    } catch (thrown) {
      await backend.close();
      throw thrown;
    }
  };
  return withRetry(open, {
    failureOf: thrown => sqliteFailure(thrown, path),
    waitOut: ['locked'],
    windowMs,
  });
}
