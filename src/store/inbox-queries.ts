import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { InboxFilter } from '../core/ports/store.ts';
import type { InboxId } from '../schema/ids.ts';
import { AnsweredBy, InboxField, type InboxItem } from '../schema/inbox.ts';
import { AFTER_EVERY_LETTER } from './id-queries.ts';
import { fromJson } from './rows.ts';
import type { InboxRow, Tables } from './tables.ts';

export const itemToRow = (item: InboxItem): InboxRow => ({
  id: item.id,
  run_id: item.runId,
  squad_id: item.squadId,
  kind: item.kind,
  source: item.source,
  question: item.question,
  details: item.details,
  choices: JSON.stringify(item.choices),
  fields: JSON.stringify(item.fields),
  owner: item.owner,
  default_answer: item.default,
  created_at: item.createdAt,
  deadline_at: item.deadlineAt,
  state: item.state,
  answer: item.answer,
  answered_by: item.answeredBy && JSON.stringify(item.answeredBy),
  answered_at: item.answeredAt,
  heard_at: item.heardAt,
  use_key: item.useKey ?? null,
  withdrawn_because: item.withdrawnBecause ?? null,
});

export const rowToItem = (row: InboxRow): InboxItem => ({
  id: row.id,
  runId: row.run_id,
  squadId: row.squad_id,
  kind: row.kind,
  source: row.source,
  question: row.question,
  details: row.details,
  choices: fromJson(Choices, row.choices, `choices of ${row.id}`),
  fields: fromJson(Fields, row.fields, `fields of ${row.id}`),
  owner: row.owner,
  default: row.default_answer,
  createdAt: row.created_at,
  deadlineAt: row.deadline_at,
  state: row.state,
  answer: row.answer,
  answeredBy: fromJson(AnsweredBy.nullable(), row.answered_by, `who answered ${row.id}`),
  answeredAt: row.answered_at,
  heardAt: row.heard_at,
  ...(row.use_key !== null && { useKey: row.use_key }),
  ...(row.withdrawn_because !== null && { withdrawnBecause: row.withdrawn_because }),
});

const Choices = z.array(z.string());
const Fields = z.array(InboxField);

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
