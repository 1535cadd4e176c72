import { z } from 'zod';
import type { Conversation, PlacedMessage } from '../core/ports/messages.ts';
import { type StoredMessage, subagentOfLabel, TracePart } from '../schema/conversation.ts';
import { fromJson } from './rows.ts';
import type { ConversationRow, MessageRow } from './tables.ts';

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
