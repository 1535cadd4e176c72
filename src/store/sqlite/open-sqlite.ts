import BetterSqlite3 from 'better-sqlite3';
import { Kysely } from 'kysely';
import type { Backend } from '../backend.ts';
import type { Tables } from '../tables.ts';
import { appender } from './append.ts';
import { sqliteDialect } from './dialect.ts';
import { sqliteFailure } from './failure.ts';
import { makeFile } from './make-file.ts';
import { APPLICATION_ID, probe } from './probe.ts';

/** The driver waits inside the call and nothing else runs meanwhile, so the real waiting is done outside. */
const BUSY_TIMEOUT_MS = 5;
/** What the log of writes may keep of the disk after a burst. */
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

/** Opens or makes the file and looks whether it is ours and whole; its tables are the migrations' business. */
export function openSqlite(file: string): Backend {
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
  return backendOn(handle, file);
}

function backendOn(handle: BetterSqlite3.Database, file: string): Backend {
  const db = new Kysely<Tables>({ dialect: sqliteDialect(handle) });
  const append = appender(handle);
  return {
    db,
    words: {
      sequenceType: 'integer',
      sequence: column => column.primaryKey().autoIncrement(),
      jsonField: (column, field) => `json_extract(${column}, '$.${field}')`,
    },
    append: async (_trx, events) => append(events),
    lastSequence: () => lastSequence(handle),
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
      await db.destroy();
      handle.close();
    },
  };
}

const lastSequence = (handle: BetterSqlite3.Database): number =>
  Number(handle.prepare(`select seq from sqlite_sequence where name = 'events'`).pluck().get() ?? 0);
