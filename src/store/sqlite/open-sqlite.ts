import { existsSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { SquadError } from '../../schema/error.ts';
import type { Backend } from '../backend.ts';
import type { NewEventRow, Tables } from '../tables.ts';
import { corrupt, sqliteFailure } from './failure.ts';
import { makeFile } from './lock.ts';
import { preparedOnce } from './prepared.ts';
import { ReportThread, ThreadDriver } from './report-thread.ts';

/** Appends events. Called for every event, so the statement bypasses Kysely and is prepared once. */
function appender(handle: BetterSqlite3.Database): (events: NewEventRow[]) => number[] {
  let insert: BetterSqlite3.Statement<NewEventRow> | undefined;
  return events => {
    insert ??= handle.prepare(
      'insert into events (at, run_id, squad_id, type, data) values (@at, @run_id, @squad_id, @type, @data)',
    );
    const numbers: number[] = [];
    for (const event of events) numbers.push(Number(insert.run(event).lastInsertRowid));
    return numbers;
  };
}

const sqliteDialect = (createDriver: () => Driver): Dialect => ({
  createDriver,
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: db => new SqliteIntrospector(db),
});

class ImmediateDriver extends SqliteDriver {
  readonly #handle: BetterSqlite3.Database;

  constructor(handle: BetterSqlite3.Database) {
    super({ database: { prepare: preparedOnce(handle), close: () => handle.close() } });
    this.#handle = handle;
  }

  // Starts as a writer: a transaction that starts as a reader and then writes fails at once if another process wrote in
  // between.
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  // SQLite has already rolled back after a full disk and some other errors.
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#handle.inTransaction) await super.rollbackTransaction(connection);
  }
}

/** "SQAD" in the file header. Prevents writing into the database of another program if the path is wrong. */
const APPLICATION_ID = 0x53_51_41_44;

interface Head {
  owner: number;
  tables: number;
  page: number;
}

/**
 * Reading the list of tables makes SQLite check the file header and compare its page count with the real one. This finds garbage and
 * truncated files at the cost of reading one page. The handle is read-only: a writer merges the -wal file into the database when it
 * closes, and a file that we refuse must stay unchanged.
 */
function probe(file: string, busyMs: number): 'new' | 'ours' {
  const log = size(`${file}-wal`);
  // SQLite would treat an empty file as a new database and delete the -wal file, which may contain all data.
  if (size(file) === 0 && log > 0) throw corrupt(file, 'it is empty, but its -wal file has changes').error;

  const { owner, tables, page } = readHead(file, busyMs);
  if (owner === 0 && tables === 0) return 'new';
  if (owner !== APPLICATION_ID) throw notOurs(file);
  // SQLite fills a truncated last page with zeros. Without a -wal file the last page must be complete.
  if (log === 0 && size(file) % page !== 0) throw corrupt(file, 'its last page is truncated').error;
  return 'ours';
}

function readHead(file: string, busyMs: number): Head {
  // A first start that was killed leaves a journal, which only a writer can roll back.
  const readonly = !existsSync(`${file}-journal`);
  const handle = new BetterSqlite3(file, { readonly, timeout: busyMs });
  try {
    // Uses one statement, so that another process that creates the database cannot interfere.
    const head = handle.prepare<[], Head>(
      `select application_id as owner, (select count(*) from sqlite_schema) as tables, page_size as page
       from pragma_application_id, pragma_page_size`,
    );
    return head.get()!;
  } finally {
    handle.close();
  }
}

const size = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

const notOurs = (file: string): SquadError =>
  new SquadError('DATABASE_FAILED', `${file} is a database of another program. Nothing was written to it.`, {
    suggestions: ['Set MCP_DATABASE_PATH to a separate file, or unset it.'],
  });

/** The busy timeout is short: the driver blocks the event loop while it waits, so `withRetry` does the real waiting. */
const BUSY_TIMEOUT_MS = 5;
/** Disk space that the -wal file may keep after a burst of writes. */
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

/**
 * Number of runs from which reports are read in a thread. With fewer runs a report takes milliseconds, and starting the
 * thread takes longer.
 */
const MAX_INLINE_RUNS = 5_000;

/**
 * Opens or creates the file and checks that it belongs to Squad and is intact. Does not create tables. See `migrate`.
 */
export function openSqlite(file: string, maxInline = MAX_INLINE_RUNS): Backend {
  makeFile(file);
  const found = probe(file, BUSY_TIMEOUT_MS);
  const handle = new BetterSqlite3(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    if (found === 'new') handle.pragma(`application_id = ${APPLICATION_ID}`);
    handle.pragma('journal_mode = WAL');
    handle.pragma('synchronous = NORMAL');
    handle.pragma('foreign_keys = ON');
    handle.pragma('cell_size_check = ON');
    handle.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`);
  } catch (thrown) {
    handle.close();
    throw thrown;
  }
  return backendOn(handle, file, maxInline);
}

function backendOn(handle: BetterSqlite3.Database, file: string, maxInline: number): Backend {
  const db = new Kysely<Tables>({ dialect: sqliteDialect(() => new ImmediateDriver(handle)) });
  const thread = new ReportThread(file);
  const reports = new Kysely<Tables>({ dialect: sqliteDialect(() => new ThreadDriver(thread)) });
  const append = appender(handle);
  return {
    db,
    // A cheap estimate: the number of the last row is at least the number of rows, and reading it needs no scan.
    reports: () =>
      Number(handle.prepare('select max(rowid) from runs').pluck().get() ?? 0) > maxInline ? reports : db,
    write: work => db.transaction().execute(work),
    append: async (_trx, events) => append(events),
    hub: null,
    lastSequence: async () => lastSequence(handle),
    skipTo: async (_trx, seq) => {
      if (lastSequence(handle) >= seq) return;
      handle.exec(`delete from sqlite_sequence where name = 'events'`);
      handle.prepare(`insert into sqlite_sequence (name, seq) values ('events', ?)`).run(seq);
    },
    fault: () => {
      const [first] = handle.pragma('quick_check(1)') as { quick_check: string }[];
      return !first || first.quick_check === 'ok' ? null : first.quick_check;
    },
    failureOf: thrown => sqliteFailure(thrown, file),
    close: async () => {
      await thread.close();
      await db.destroy();
      handle.close();
    },
  };
}

const lastSequence = (handle: BetterSqlite3.Database): number =>
  Number(handle.prepare(`select seq from sqlite_sequence where name = 'events'`).pluck().get() ?? 0);
