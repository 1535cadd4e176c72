import type { Kysely } from 'kysely';
import type { ReviewFilter } from '../core/ports/store.ts';
import type { ReviewId, RunId } from '../schema/ids.ts';
import { Intent, type Review } from '../schema/review.ts';
import { LIVE } from './queries.ts';
import { fromJson, rowToReview } from './rows.ts';
import type { IntentRow, Tables } from './tables.ts';

export function intentToRow({ id, kind, at, ...rest }: Intent): IntentRow {
  return { id, kind, at, data: JSON.stringify(rest) };
}

export const rowToIntent = ({ id, kind, at, data }: IntentRow): Intent =>
  fromJson(Intent, data, `intent ${id}`, { id, kind, at });

type Db = Kysely<Tables>;

export async function review(db: Db, id: ReviewId): Promise<Review | null> {
  const row = await db.selectFrom('reviews').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToReview(row) : null;
}

export async function reviews(db: Db, filter: ReviewFilter): Promise<Review[]> {
  const { lineageId, coderId, reviewerId, workspace, isOpen, limit } = filter;
  let query = db.selectFrom('reviews').selectAll().limit(limit);
  if (lineageId !== undefined) query = query.where('lineage_id', '=', lineageId);
  if (coderId !== undefined) query = query.where('coder_id', '=', coderId);
  if (reviewerId !== undefined) query = query.where('reviewer_id', '=', reviewerId);
  if (isOpen) query = query.where('outcome', 'is', null);
  if (workspace !== undefined)
    query = query.where(({ exists, selectFrom }) => {
      const coder = selectFrom('runs').select('runs.id').whereRef('runs.id', '=', 'reviews.coder_id');
      return exists(coder.where('runs.workspace', '=', workspace));
    });
  const inOrder = query.orderBy('requested_at').orderBy('iteration').orderBy('id');
  return (await inOrder.execute()).map(rowToReview);
}

export async function reviewedLineages(db: Db): Promise<RunId[]> {
  const query = db.selectFrom('runs').select('lineage_id').distinct().where('status', 'in', LIVE);
  const rows = await query
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('reviews').select('reviews.id').whereRef('reviews.lineage_id', '=', 'runs.lineage_id'),
      ),
    )
    .execute();
  return rows.map(({ lineage_id }) => lineage_id);
}

export async function reviewLimit(db: Db, lineageId: RunId): Promise<number | null> {
  const query = db.selectFrom('review_limits').select('review_limit').where('lineage_id', '=', lineageId);
  return (await query.executeTakeFirst())?.review_limit ?? null;
}

export async function intents(db: Db): Promise<Intent[]> {
  const rows = await db.selectFrom('intents').selectAll().orderBy('at').orderBy('id').execute();
  return rows.map(rowToIntent);
}
