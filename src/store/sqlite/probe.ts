import { existsSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { SquadError } from '../../schema/error.ts';
import { corrupt } from './failure.ts';

/** "SQAD": written into the file's head, so that a wrong path cannot make us write into someone else's database. */
export const APPLICATION_ID = 0x53_51_41_44;

interface Head {
  owner: number;
  tables: number;
  page: number;
}

/**
 * Reading the list of tables makes SQLite check the file's head and compare the number of pages it names with the
 * real one: garbage and a file cut short are found here, at the cost of one page. The handle is a reader's, because
 * a writer's moves the -wal file into the database when it closes, and a file we refuse is to be left as it was found.
 */
export function probe(file: string, busyMs: number): 'new' | 'ours' {
  const log = size(`${file}-wal`);
  // SQLite would take this for a new database and remove the log, which may hold everything.
  if (size(file) === 0 && log > 0)
    throw corrupt(file, 'it is empty, but changes for it are waiting in the -wal file').error;

  const { owner, tables, page } = readHead(file, busyMs);
  if (owner === 0 && tables === 0) return 'new';
  if (owner !== APPLICATION_ID) throw notOurs(file);
  // SQLite fills a cut last page with zeros. Only a log still being copied into the file may leave it so.
  if (log === 0 && size(file) % page !== 0) throw corrupt(file, 'its last page is cut').error;
  return 'ours';
}

function readHead(file: string, busyMs: number): Head {
  // A first start that was killed half way leaves a journal, and only a writer can undo that half.
  const readonly = !existsSync(`${file}-journal`);
  const handle = new BetterSqlite3(file, { readonly, timeout: busyMs });
  try {
    // One statement, so that another process making the database cannot come between the answers.
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
    suggestions: ['Set MCP_DATABASE_PATH to a file of its own, or unset it.'],
  });
