import type { Kysely } from 'kysely';
import type { InboxFilter } from '../core/ports/store.ts';
import type { InboxId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { AFTER_EVERY_LETTER } from './id-queries.ts';
import { rowToItem } from './rows.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;

export async function inboxItem(db: Db, id: InboxId): Promise<InboxItem | null> {
  const row = await db.selectFrom('inbox').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowToItem(row) : null;
}

export async function inboxItems(db: Db, filter: InboxFilter): Promise<InboxItem[]> {
  const { runId, state, isSettled, owner, idPrefix, limit } = filter;
  const id = db.dynamic.ref<'id'>('id');
  let query = db.selectFrom('inbox').selectAll().limit(limit);
  if (runId !== undefined) query = query.where('run_id', '=', runId);
  if (state !== undefined) query = query.where('state', '=', state);
  if (isSettled) query = query.where('state', '<>', 'open');
  if (owner !== undefined) query = query.where('owner', '=', owner);
  if (idPrefix !== undefined)
    query = query.where(id, '>=', idPrefix).where(id, '<', idPrefix + AFTER_EVERY_LETTER);
  return (await query.orderBy('created_at', 'desc').orderBy('id').execute()).map(rowToItem);
}
