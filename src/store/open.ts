import { resolve } from 'node:path';
import type { PinStore } from '../core/ports/gateway.ts';
import type { RunSource } from '../core/ports/run-files.ts';
import type { MessageStore, Store } from '../core/ports/store.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { type Backend, withRetry } from './backend.ts';
import type { CommitMark, Mark } from './commit-mark.ts';
import { migrate } from './migrations.ts';
import { postgresFailure } from './postgres/failure.ts';
import type { HomeIdentity } from './postgres/hub-lock.ts';
import { openPostgres } from './postgres/open-postgres.ts';
import { isPostgresUrl, nameOfDatabase } from './postgres/url.ts';
import { finishSwap, type Restored, rebuild, restoreRuns } from './rebuild.ts';
import { sqliteFailure } from './sqlite/failure.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import { storeOn } from './store.ts';

export const BUSY_RETRY_MS = 10_000;
/** Time for a PostgreSQL server to restart, or for a cluster to switch to another server. */
const OUTAGE_RETRY_MS = 30_000;

export interface StoreOptions {
  /** Path of a SQLite file, or URL of a PostgreSQL database. */
  database: string;
  /** Home whose hub uses the database. Needed only for PostgreSQL, because other homes may reach the same database. */
  home?: HomeIdentity;
  /** Version of Squad that is recorded with each migration. */
  version: string;
  /** How long to retry when the database is locked or the disk is full. */
  busyRetryMs?: number;
  /** False for a program that uses the database of a home and is not its hub (default: true). */
  isHub?: boolean;
}

export async function openStore(options: StoreOptions): Promise<Store & PinStore & MessageStore> {
  const { busyRetryMs = BUSY_RETRY_MS } = options;
  return storeOn(await openBackend(options, busyRetryMs), busyRetryMs);
}

/** Name of the database in messages: the path of the file, or the URL without its password. */
export const databaseName = (database: string): string =>
  isPostgresUrl(database) ? nameOfDatabase(database) : resolve(database);

const NO_HOME: HomeIdentity = { id: 'none', home: 'no home' };

/** Opens and migrates the database. */
export async function openBackend(options: StoreOptions, windowMs: number): Promise<Backend> {
  const { database, version, home = NO_HOME, isHub = true } = options;
  const name = databaseName(database);
  const isPostgres = isPostgresUrl(database);
  const open = async () => {
    const backend = isPostgres ? await openPostgres(database, home) : openSqlite(name);
    try {
      await migrate(backend, name, version);
      if (isHub) await backend.register?.(version);
      return backend;
    } catch (thrown) {
      await backend.close();
      throw thrown;
    }
  };
  return withRetry(open, {
    failureOf: thrown => (isPostgres ? postgresFailure : sqliteFailure)(thrown, name),
    waitOut: ['locked'],
    windowMs,
  });
}

export interface CheckedOptions extends Omit<StoreOptions, 'busyRetryMs'> {
  mark: CommitMark;
  source: RunSource;
  /** Called before runs are restored, which takes long if there are many. */
  onRestore(why: string): void;
  /** Called when damage is found during use. The database should not be used any more; the next start rebuilds it. */
  onDamage(error: SquadError): void;
}

/**
 * Tolerance for comparing the time of a folder with that of the last remaining event, because clocks differ and are
 * adjusted.
 */
const MARGIN_MS = 60_000;

/**
 * Opens the database and compares it with the mark in the home folder. Lost commits (a missing -wal file, an older copy, no file at
 * all) are restored from the run folders. A damaged file is rebuilt.
 */
export async function openCheckedStore({
  mark,
  source,
  onRestore,
  onDamage,
  ...options
}: CheckedOptions): Promise<{ store: Store & PinStore & MessageStore; restored: Restored | null }> {
  const path = databaseName(options.database);
  const open = () => openBackend(options, BUSY_RETRY_MS);
  const before = mark.read();
  if (!isPostgresUrl(options.database)) {
    if (before && isPostgresUrl(before.database)) throw movedAway(before.database, mark.file);
    finishSwap(path);
  }
  const expected = before?.database === path ? before : null;
  const found = await openUndamaged(open, expected);
  let restored: Restored | null = null;
  let backend: Backend;
  if ('damage' in found) {
    const why = `The database ${path} was damaged (${found.damage})`;
    onRestore(why);
    restored = await rebuild(path, source, { why, version: options.version, mark: expected });
    backend = await open();
  } else {
    backend = found.backend;
    const loss = await lossOf(backend, path, expected);
    if (loss) {
      if (expected) onRestore(loss.why);
      restored = await restoreRuns(backend, source, { ...loss, mark: expected, kept: null }).catch(
        async thrown => {
          const { error } = backend.failureOf(thrown);
          await backend.close();
          throw error;
        },
      );
    }
  }
  const retryMs = isPostgresUrl(options.database) ? OUTAGE_RETRY_MS : BUSY_RETRY_MS;
  return { store: await markedStore(backend, path, { mark, onDamage, retryMs }), restored };
}

/** Error for a client without SQUAD_DATABASE_URL, which would otherwise start a hub with the outdated SQLite file. */
const movedAway = (database: string, markFile: string): SquadError =>
  new SquadError(
    'DATABASE_FAILED',
    `The data of this home is in ${database}, and SQUAD_DATABASE_URL is not set.`,
    {
      suggestions: [
        'Set SQUAD_DATABASE_URL, also in the configuration of the MCP client that starts Squad, or use `squad hub join URL` once.',
        `To use SQLite again, delete ${markFile}.`,
      ],
    },
  );

/** The whole file is checked only if the database is out of date, because that reads all of it. */
async function openUndamaged(
  open: () => Promise<Backend>,
  expected: Mark | null,
): Promise<{ backend: Backend } | { damage: string }> {
  if (expected?.damage) return { damage: expected.damage };
  let backend: Backend | undefined;
  try {
    backend = await open();
    const fault = (await isBehind(backend, expected)) ? backend.fault() : null;
    if (fault === null) return { backend };
    await backend.close();
    return { damage: fault };
  } catch (thrown) {
    const error = backend?.failureOf(thrown).error ?? asSquadError(thrown);
    await backend?.close();
    if (error.code !== 'DATABASE_CORRUPT') throw error;
    return { damage: reasonOf(error) };
  }
}

/** The database ends before the mark, or has a different event at the number of the mark. */
async function isBehind({ db, lastSequence }: Backend, expected: Mark | null): Promise<boolean> {
  if (!expected) return false;
  if ((await lastSequence()) < expected.seq) return true;
  const event = await db.selectFrom('events').select('at').where('seq', '=', expected.seq).executeTakeFirst();
  return event !== undefined && event.at !== expected.at;
}

interface Loss {
  why: string;
  isBehind: boolean;
  since: number;
}

/** Describes lost commits. Null if none were lost. */
async function lossOf(backend: Backend, path: string, expected: Mark | null): Promise<Loss | null> {
  if (!expected)
    return {
      why: `The database ${path} did not have all runs of this home`,
      ...{ isBehind: false, since: Number.POSITIVE_INFINITY },
    };
  if (!(await isBehind(backend, expected))) return null;
  if ((await backend.lastSequence()) === 0)
    return { why: `The database ${path} was missing or empty`, isBehind: true, since: 0 };
  const last = await backend.db
    .selectFrom('events')
    .select('at')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return {
    why: `The database ${path} was older than the run folders: its last changes were lost`,
    ...{ isBehind: true, since: (last?.at ?? 0) - MARGIN_MS },
  };
}

async function markedStore(
  backend: Backend,
  path: string,
  { mark, onDamage, retryMs }: Pick<CheckedOptions, 'mark' | 'onDamage'> & { retryMs: number },
): Promise<Store & PinStore & MessageStore> {
  const watched: Backend = {
    ...backend,
    failureOf(thrown) {
      const failure = backend.failureOf(thrown);
      if (failure.error.code === 'DATABASE_CORRUPT') {
        mark.damaged(reasonOf(failure.error));
        onDamage(failure.error);
      }
      return failure;
    },
  };
  const store = storeOn(watched, retryMs);
  try {
    const seq = await backend.lastSequence();
    const event = await backend.db
      .selectFrom('events')
      .select('at')
      .where('seq', '=', seq)
      .executeTakeFirst();
    mark.replace({ seq, at: event?.at ?? 0, database: path, damage: null, settings: await store.settings() });
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
  store.onEvents(events => {
    const last = events.at(-1);
    if (last) mark.committed(last.seq, last.at);
  });
  return {
    ...store,
    async setSetting(key, value) {
      await store.setSetting(key, value);
      mark.settings(await store.settings());
    },
    async close() {
      await store.close();
      mark.close();
    },
  };
}

const reasonOf = ({ message }: SquadError): string =>
  /is damaged: (.*)\.$/s.exec(message)?.[1] ?? message.replace(/\.$/, '');
