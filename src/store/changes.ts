import type { Transaction } from 'kysely';
import type { Change } from '../core/ports/store.ts';
import { HubSettings } from '../schema/config.ts';
import { intentToRow, isSqlite } from './queries.ts';
import {
  type ChatRow,
  chatToRow,
  eventToRow,
  itemToRow,
  lineToRow,
  reviewToRow,
  runToRow,
  squadToRow,
  type Tables,
  type TurnRow,
  turnToRow,
} from './tables.ts';

type Trx = Transaction<Tables>;

type ReviewLimit = NonNullable<Change['reviewLimits']>[number];

type Rows = ReturnType<typeof toRows>;

/**
 * Copies the change when it is submitted: it is written a moment later, and the caller may change its objects in
 * between.
 */
export const toRows = (change: Change) => ({
  squads: change.squads?.map(squadToRow) ?? [],
  runs: change.runs?.map(runToRow) ?? [],
  turns: change.turns?.map(turnToRow) ?? [],
  chats: change.chats?.map(chatToRow) ?? [],
  reviews: change.reviews?.map(reviewToRow) ?? [],
  inbox: change.inbox?.map(itemToRow) ?? [],
  intents: change.intents?.map(intentToRow) ?? [],
  intentsDone: [...(change.intentsDone ?? [])],
  reviewLimits: change.reviewLimits?.map(limit => ({ ...limit })) ?? [],
  lines: change.lines?.map(lineToRow) ?? [],
  events: change.events.map(eventToRow),
});

/**
 * Writes squads first, then runs, then turns and reviews, because later rows refer to earlier ones. SQLite gets one row
 * per statement, so that the SQL text is always the same and stays prepared. `Backend.append` writes the events.
 */
export async function putRows(trx: Trx, rows: Rows): Promise<void> {
  await putById(trx, 'squads', rows.squads);
  await putById(trx, 'runs', rows.runs);
  for (const row of rows.turns) await putTurn(trx, row);
  for (const row of rows.chats) await putChat(trx, row);
  await putById(trx, 'reviews', rows.reviews);
  await putById(trx, 'inbox', rows.inbox);
  await putById(trx, 'intents', rows.intents);
  for (const id of rows.intentsDone) await trx.deleteFrom('intents').where('id', '=', id).execute();
  for (const limit of rows.reviewLimits) await putReviewLimit(trx, limit);
  for (const row of rows.lines) await trx.insertInto('sent_lines').values(row).execute();
}

/**
 * Key of a setting in the table. Limits and budgets hold for all hubs of a database. All other settings, such as the
 * port and the machines, are of one hub, and their key begins with the id of that hub.
 */
export const storedKey = (key: string, hub: string | null): string =>
  hub === null || key in HubSettings.shape ? key : `${hub}/${key}`;

export async function putSetting(trx: Trx, key: string, value: string | null): Promise<void> {
  if (value === null) {
    await trx.deleteFrom('settings').where('key', '=', key).execute();
    return;
  }
  await trx
    .insertInto('settings')
    .values({ key, value })
    .onConflict(conflict => conflict.column('key').doUpdateSet({ value }))
    .execute();
}

/** Tables with the primary key `id`, of which a whole row is replaced. */
type TableById = 'squads' | 'runs' | 'reviews' | 'inbox' | 'intents';

async function putById<Table extends TableById>(
  trx: Trx,
  table: Table,
  rows: readonly Tables[Table][],
): Promise<void> {
  // PostgreSQL refuses a statement that changes the same row twice.
  const isOnce = new Set(rows.map(({ id }) => id)).size === rows.length;
  if (rows.length > 1 && isOnce && !isSqlite(trx)) return putTogether(trx, table, rows);
  for (const row of rows) {
    const { id, ...rest } = row as Tables['intents'];
    await trx
      .insertInto(table as 'intents')
      .values({ id, ...rest })
      .onConflict(conflict => conflict.column('id').doUpdateSet(rest))
      .execute();
  }
}

/** Rows per statement for PostgreSQL, where every statement is a round trip to the server. */
const ROWS_AT_ONCE = 200;

async function putTogether<Table extends TableById>(
  trx: Trx,
  table: Table,
  rows: readonly Tables[Table][],
): Promise<void> {
  const intents = rows as readonly Tables['intents'][];
  const columns = Object.keys(intents[0]!).filter(name => name !== 'id') as 'data'[];
  for (let at = 0; at < intents.length; at += ROWS_AT_ONCE)
    await trx
      .insertInto(table as 'intents')
      .values(intents.slice(at, at + ROWS_AT_ONCE))
      .onConflict(conflict =>
        conflict
          .column('id')
          .doUpdateSet(({ ref }) => Object.fromEntries(columns.map(name => [name, ref(`excluded.${name}`)]))),
      )
      .execute();
}

const putTurn = (trx: Trx, { run_id, number, ...rest }: TurnRow) =>
  trx
    .insertInto('turns')
    .values({ run_id, number, ...rest })
    .onConflict(conflict => conflict.columns(['run_id', 'number']).doUpdateSet(rest))
    .execute();

/**
 * Inserts or updates a chat. `created_at` keeps its value. A turn without reported usage does not clear the totals of
 * the chat.
 */
const putChat = (trx: Trx, row: ChatRow) =>
  trx
    .insertInto('chats')
    .values(row)
    .onConflict(conflict =>
      conflict.column('id').doUpdateSet(({ ref, fn }) => ({
        engine: ref('excluded.engine'),
        run_id: ref('excluded.run_id'),
        totals: fn.coalesce('excluded.totals', 'chats.totals'),
      })),
    )
    .execute();

async function putReviewLimit(trx: Trx, { lineageId, limit }: ReviewLimit): Promise<void> {
  if (limit === null) {
    await trx.deleteFrom('review_limits').where('lineage_id', '=', lineageId).execute();
    return;
  }
  await trx
    .insertInto('review_limits')
    .values({ lineage_id: lineageId, review_limit: limit })
    .onConflict(conflict => conflict.column('lineage_id').doUpdateSet({ review_limit: limit }))
    .execute();
}
