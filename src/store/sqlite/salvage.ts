import BetterSqlite3 from 'better-sqlite3';
import { InboxItem } from '../../schema/inbox.ts';
import { Review } from '../../schema/review.ts';
import { Chat, Run, Squad, Turn } from '../../schema/run.ts';
import { rowToMessage } from '../message-queries.ts';
import { rowToIntent } from '../queries.ts';
import {
  rowToChat,
  rowToEvent,
  rowToItem,
  rowToPin,
  rowToReview,
  rowToRun,
  rowToSquad,
  rowToTurn,
  type Tables,
} from '../tables.ts';

type Row = Record<string, unknown>;

/** Checks of rows, by table. They throw for an unreadable row. */
const CHECKS: { [Table in keyof Tables]?: (row: never) => unknown } = {
  squads: (row: Parameters<typeof rowToSquad>[0]) => Squad.parse(rowToSquad(row)),
  runs: (row: Parameters<typeof rowToRun>[0]) => Run.parse(rowToRun(row)),
  turns: (row: Parameters<typeof rowToTurn>[0]) => Turn.parse(rowToTurn(row)),
  chats: (row: Parameters<typeof rowToChat>[0]) => Chat.parse(rowToChat(row)),
  reviews: (row: Parameters<typeof rowToReview>[0]) => Review.parse(rowToReview(row)),
  inbox: (row: Parameters<typeof rowToItem>[0]) => InboxItem.parse(rowToItem(row)),
  messages: rowToMessage,
  intents: rowToIntent,
  events: rowToEvent,
  tool_pins: rowToPin,
};

/** Tables that are not copied, because triggers fill them while runs are copied. */
const COUNTED: readonly string[] = ['run_counts', 'spending'] satisfies (keyof Tables)[];

/** Copies every readable row of a damaged database into a new, migrated one. Never writes to the damaged one. */
export function salvage(from: string, to: string): void {
  const target = new BetterSqlite3(to);
  let source: BetterSqlite3.Database | undefined;
  try {
    target.pragma('foreign_keys = OFF');
    const tables = names(target, `select name from sqlite_schema where type = 'table'`);
    source = openDamaged(from);
    const copyAll = target.transaction((readable: BetterSqlite3.Database) => {
      for (const table of tables)
        if (!table.startsWith('sqlite_') && table !== 'migrations' && !COUNTED.includes(table))
          copyTable(readable, target, table);
      repairReferences(target);
    });
    if (source) copyAll(source);
  } finally {
    source?.close();
    target.close();
  }
}

function openDamaged(file: string): BetterSqlite3.Database | undefined {
  try {
    return new BetterSqlite3(file, { readonly: true, fileMustExist: true });
  } catch {
    return undefined; // no row of the table is readable
  }
}

function copyTable(source: BetterSqlite3.Database, target: BetterSqlite3.Database, table: string): void {
  const shared = sharedColumns(source, target, table);
  if (shared.length === 0) return;
  const columns = shared.map(name => `"${name}"`).join(', ');
  const insert = target.prepare(
    `insert or ignore into "${table}" (${columns}) values (${shared.map(() => '?').join(', ')})`,
  );
  const check = CHECKS[table as keyof Tables] as ((row: Row) => unknown) | undefined;
  // Reads from the beginning up to the damage, then from the end back to it.
  for (const order of ['asc', 'desc']) {
    const isWhole = scan(source, `select ${columns} from "${table}" order by rowid ${order}`, row => {
      try {
        check?.(row);
      } catch {
        return; // the row is restored later from the run's folder, if the folder has a record
      }
      insert.run(shared.map(name => row[name]));
    });
    if (isWhole) return;
  }
}

/** Scans rows. Returns false if damage ended the scan. Errors of `take` are thrown. */
function scan(source: BetterSqlite3.Database, query: string, take: (row: Row) => void): boolean {
  let rows: IterableIterator<Row>;
  try {
    rows = source.prepare<[], Row>(query).iterate();
  } catch {
    return false;
  }
  for (;;) {
    let next: IteratorResult<Row>;
    try {
      next = rows.next();
    } catch {
      return false;
    }
    if (next.done) return true;
    take(next.value);
  }
}

function sharedColumns(
  source: BetterSqlite3.Database,
  target: BetterSqlite3.Database,
  table: string,
): string[] {
  const query = `select name from pragma_table_info('${table}')`;
  try {
    const theirs = new Set(names(source, query));
    return names(target, query).filter(name => theirs.has(name));
  } catch {
    return []; // not even the schema of the database is readable
  }
}

/**
 * Recreates missing squads from their runs, and deletes turns whose run is missing. Fills in the columns of runs that repeat what
 * is in JSON: an older database does not have them.
 */
function repairReferences(target: BetterSqlite3.Database): void {
  target.exec(`
    insert into squads (id, workspace, client, metadata, created_at)
      select squad_id, workspace, client, null, min(created_at) from runs
      where squad_id not in (select id from squads) group by squad_id;
    delete from turns where run_id not in (select id from runs);
    update runs set subagent = json_extract(options, '$.subagent'), input_tokens = json_extract(usage, '$.input'),
      output_tokens = json_extract(usage, '$.output'), cost_is_estimated = json_extract(usage, '$.costIsEstimated');
  `);
}

const names = (handle: BetterSqlite3.Database, query: string): string[] =>
  handle.prepare<[], string>(query).pluck().all() as string[];
