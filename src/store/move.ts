import { type Kysely, sql } from 'kysely';
import { SquadError } from '../schema/error.ts';
import type { Backend } from './backend.ts';
import { storedKey } from './changes.ts';
import type { Tables } from './tables.ts';

/** Tables that are not copied: triggers and `migrate` fill them, or SQLite does not have them. */
type Unmoved = 'run_counts' | 'spending' | 'migrations' | 'stop_requests' | 'answers' | 'running_costs';
export type MovedTable = Exclude<keyof Tables, Unmoved>;

/** Tables in the order of their references: a table comes after the tables that it refers to. */
const MOVED = Object.keys({
  ...{
    squads: true,
    runs: true,
    turns: true,
    chats: true,
    reviews: true,
    review_limits: true,
    intents: true,
  },
  ...{ inbox: true, messages: true, conversations: true, sent_lines: true, events: true, settings: true },
  ...{ listed_servers: true, tool_pins: true },
} satisfies Record<MovedTable, true>) as MovedTable[];

/** Rows per statement. Even for the widest table this stays below PostgreSQL's maximum number of parameters. */
const ROWS_AT_ONCE = 500;

/**
 * Copies every row into an empty database, in one transaction. Event numbers stay the same, so clients can continue to
 * read from their last event. The rows belong to the hub of this home. Returns the number of rows of each table.
 */
export async function moveRows(
  from: Backend,
  to: Backend,
  name: string,
): Promise<Record<MovedTable, number>> {
  const last = await from.lastSequence();
  return to.write(async trx => {
    const counts = {} as Record<MovedTable, number>;
    for (const table of MOVED) {
      if (await hasRows(trx, table)) throw notEmpty(name, table);
      counts[table] = 0;
      for await (const rows of pagesOf(from.db, table)) {
        await trx
          .insertInto(table as 'settings')
          .values(
            table === 'settings' ? rows.map(row => ({ ...row, key: storedKey(row.key, to.hub) })) : rows,
          )
          .execute();
        counts[table] += rows.length;
      }
    }
    await to.skipTo(trx, last);
    return counts;
  });
}

const hasRows = async (db: Kysely<Tables>, table: MovedTable): Promise<boolean> =>
  (await sql`select 1 from ${sql.table(table)} limit 1`.execute(db)).rows.length > 0;

/** Reads all rows of a SQLite table, in the order in which they were written. */
async function* pagesOf(db: Kysely<Tables>, table: MovedTable): AsyncGenerator<Tables['settings'][]> {
  for (let after = 0; ; ) {
    const { rows } = await sql<Tables['settings'] & { moved_rowid: number }>`
      select rowid as moved_rowid, * from ${sql.table(table)} where rowid > ${after}
      order by rowid limit ${ROWS_AT_ONCE}`.execute(db);
    if (rows.length === 0) return;
    after = rows.at(-1)!.moved_rowid;
    yield rows.map(({ moved_rowid: _, ...row }) => row);
  }
}

const notEmpty = (name: string, table: string): SquadError =>
  new SquadError(
    'DATABASE_FAILED',
    `The database ${name} is not empty: it has rows in ${table}. Nothing was moved.`,
    {
      suggestions: ['Move into a new database or schema.'],
    },
  );
