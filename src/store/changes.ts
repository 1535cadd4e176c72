import type { Transaction } from 'kysely';
import type { Change } from '../core/ports/store.ts';
import type { Backend } from './backend.ts';
import { itemToRow } from './inbox-queries.ts';
import { intentToRow, reviewToRow } from './review-queries.ts';
import { chatToRow, eventToRow, runToRow, squadToRow, turnToRow } from './rows.ts';
import type {
  ChatRow,
  InboxRow,
  IntentRow,
  NewEventRow,
  ReviewRow,
  RunRow,
  SquadRow,
  Tables,
  TurnRow,
} from './tables.ts';

type Trx = Transaction<Tables>;

type ReviewLimit = NonNullable<Change['reviewLimits']>[number];

interface Rows {
  squads: SquadRow[];
  runs: RunRow[];
  turns: TurnRow[];
  chats: ChatRow[];
  reviews: ReviewRow[];
  inbox: InboxRow[];
  intents: IntentRow[];
  intentsDone: string[];
  reviewLimits: ReviewLimit[];
  events: NewEventRow[];
}

/** Taken when the change is given: it is written a moment later, and must be written as it was. */
export const toRows = (change: Change): Rows => ({
  squads: change.squads?.map(squadToRow) ?? [],
  runs: change.runs?.map(runToRow) ?? [],
  turns: change.turns?.map(turnToRow) ?? [],
  chats: change.chats?.map(chatToRow) ?? [],
  reviews: change.reviews?.map(reviewToRow) ?? [],
  inbox: change.inbox?.map(itemToRow) ?? [],
  intents: change.intents?.map(intentToRow) ?? [],
  intentsDone: [...(change.intentsDone ?? [])],
  reviewLimits: change.reviewLimits?.map(limit => ({ ...limit })) ?? [],
  events: change.events.map(eventToRow),
});

/**
 * Squads before runs before turns and reviews, because each names one of those before. One row a statement: its text is then always
 * the same and stays prepared. Returns the numbers of the events.
 */
export async function putRows(trx: Trx, backend: Backend, rows: Rows): Promise<number[]> {
  for (const row of rows.squads) await putSquad(trx, row);
  for (const row of rows.runs) await putRun(trx, row);
  for (const row of rows.turns) await putTurn(trx, row);
  for (const row of rows.chats) await putChat(trx, row);
  for (const row of rows.reviews) await putReview(trx, row);
  for (const row of rows.inbox) await putItem(trx, row);
  for (const row of rows.intents) await putIntent(trx, row);
  for (const id of rows.intentsDone) await trx.deleteFrom('intents').where('id', '=', id).execute();
  for (const limit of rows.reviewLimits) await putReviewLimit(trx, limit);
  return rows.events.length > 0 ? backend.append(trx, rows.events) : [];
}

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

const putSquad = (trx: Trx, { id, ...rest }: SquadRow) =>
  trx
    .insertInto('squads')
    .values({ id, ...rest })
    .onConflict(conflict => conflict.column('id').doUpdateSet(rest))
    .execute();

const putRun = (trx: Trx, { id, ...rest }: RunRow) =>
  trx
    .insertInto('runs')
    .values({ id, ...rest })
    .onConflict(conflict => conflict.column('id').doUpdateSet(rest))
    .execute();

const putTurn = (trx: Trx, { run_id, number, ...rest }: TurnRow) =>
  trx
    .insertInto('turns')
    .values({ run_id, number, ...rest })
    .onConflict(conflict => conflict.columns(['run_id', 'number']).doUpdateSet(rest))
    .execute();

/** A chat begins once, and a turn that reported nothing says nothing about what the chat has used. */
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

const putReview = (trx: Trx, { id, ...rest }: ReviewRow) =>
  trx
    .insertInto('reviews')
    .values({ id, ...rest })
    .onConflict(conflict => conflict.column('id').doUpdateSet(rest))
    .execute();

const putItem = (trx: Trx, { id, ...rest }: InboxRow) =>
  trx
    .insertInto('inbox')
    .values({ id, ...rest })
    .onConflict(conflict => conflict.column('id').doUpdateSet(rest))
    .execute();

const putIntent = (trx: Trx, { id, ...rest }: IntentRow) =>
  trx
    .insertInto('intents')
    .values({ id, ...rest })
    .onConflict(conflict => conflict.column('id').doUpdateSet(rest))
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
