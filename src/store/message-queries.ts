import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { Conversation, ConversationFilter, PlacedMessage } from '../core/ports/store.ts';
import { NATIVE, type StoredMessage, subagentOfLabel, TracePart } from '../schema/conversation.ts';
import type { RunId } from '../schema/ids.ts';
import { type Db, isOwn } from './queries.ts';
import { type ConversationRow, fromJson, type MessageRow, type Tables } from './tables.ts';

export const messageToRow = (message: PlacedMessage): MessageRow => ({
  id: message.id,
  run_id: message.runId,
  turn: message.turn,
  position: message.position,
  parent_id: message.parentId,
  label: message.label,
  role: message.role,
  content: JSON.stringify(message.content),
  at: message.at,
});

export const rowToMessage = (row: MessageRow): StoredMessage => ({
  id: row.id,
  runId: row.run_id,
  parentId: row.parent_id,
  label: row.label,
  role: row.role,
  content: fromJson(Content, row.content, `content of ${row.id}`),
  at: row.at,
});

export const conversationToRow = (
  { runId, label, startedAt }: Pick<Conversation, 'runId' | 'label' | 'startedAt'>,
  isClosed: boolean,
): ConversationRow => ({
  run_id: runId,
  label,
  subagent: subagentOfLabel(label),
  started_at: startedAt,
  is_closed: isClosed ? 1 : 0,
});

const Content = z.array(TracePart);

type Trx = Transaction<Tables>;

export async function putMessages(trx: Trx, rows: MessageRow[], ofRuns: ConversationRow[]): Promise<void> {
  for (const row of ofRuns)
    await trx
      .insertInto('conversations')
      .values(row)
      .onConflict(conflict => conflict.doNothing())
      .execute();
  for (const row of rows)
    await trx
      .insertInto('messages')
      .values(row)
      .onConflict(conflict => conflict.doNothing())
      .execute();
}

/** Returns a row for each run whose messages are stored here. */
export function conversationsOf(messages: readonly PlacedMessage[]): ConversationRow[] {
  const first = new Map<RunId, PlacedMessage>();
  for (const message of messages) if (!first.has(message.runId)) first.set(message.runId, message);
  return [...first.values()].map(({ runId, label, at }) =>
    conversationToRow({ runId, label, startedAt: at }, false),
  );
}

export async function closeConversation(trx: Trx, row: ConversationRow): Promise<void> {
  await trx
    .insertInto('conversations')
    .values(row)
    .onConflict(conflict => conflict.column('run_id').doUpdateSet({ is_closed: row.is_closed }))
    .execute();
}

export async function messages(
  db: Db,
  runId: RunId,
  { skip, limit }: { skip: number; limit: number },
): Promise<StoredMessage[]> {
  const rows = await db
    .selectFrom('messages')
    .selectAll()
    .where('run_id', '=', runId)
    .orderBy('turn')
    .orderBy('position')
    .limit(limit)
    .offset(skip)
    .execute();
  return rows.map(rowToMessage);
}

export async function message(db: Db, runId: RunId, id: string): Promise<StoredMessage | null> {
  const row = await db
    .selectFrom('messages')
    .selectAll()
    .where('id', '=', id)
    .where('run_id', '=', runId)
    .executeTakeFirst();
  return row ? rowToMessage(row) : null;
}

export async function countMessages(db: Db, runId: RunId): Promise<number> {
  const { count } = await db
    .selectFrom('messages')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function conversations(
  db: Db,
  { workspace, subagent, before, limit }: ConversationFilter,
): Promise<Conversation[]> {
  let query = db
    .selectFrom('conversations')
    .select(['run_id', 'label', 'subagent', 'started_at'])
    .select(({ selectFrom }) => [
      selectFrom('messages')
        .select(({ fn }) => fn.countAll().as('count'))
        .whereRef('messages.run_id', '=', 'conversations.run_id')
        .as('count'),
      selectFrom('messages')
        .select(({ fn }) => fn.max('at').as('last'))
        .whereRef('messages.run_id', '=', 'conversations.run_id')
        .as('last'),
    ])
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('messages').select('id').whereRef('messages.run_id', '=', 'conversations.run_id')),
    )
    .limit(limit);
  if (workspace !== undefined)
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('runs')
          .select('runs.id')
          .whereRef('runs.id', '=', 'conversations.run_id')
          .where('runs.workspace', '=', workspace),
      ),
    );
  if (subagent !== undefined) query = query.where('subagent', '=', subagent);
  if (before !== undefined) query = query.where('started_at', '<', before);
  const rows = await query.orderBy('started_at', 'desc').orderBy('run_id').execute();
  return rows.map(row => ({
    runId: row.run_id,
    label: row.label,
    subagent: row.subagent,
    startedAt: row.started_at,
    messages: Number(row.count ?? 0),
    lastAt: row.last === null ? null : Number(row.last),
  }));
}

export async function talkers(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('conversations')
    .select('subagent')
    .distinct()
    .where('subagent', 'is not', null)
    .orderBy('subagent')
    .execute();
  return rows.flatMap(({ subagent }) => subagent ?? []);
}

export async function unclosedConversations(db: Db, limit: number): Promise<RunId[]> {
  const rows = await db
    .selectFrom('runs')
    .select('runs.id')
    .where('runs.engine', '=', NATIVE)
    .where('runs.ended_at', 'is not', null)
    .where(isOwn(db, 'runs'))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('conversations')
            .select('run_id')
            .whereRef('conversations.run_id', '=', 'runs.id')
            .where('is_closed', '=', 1),
        ),
      ),
    )
    .orderBy('runs.created_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}
