import type { Generated } from 'kysely';
import type { PinState } from '../core/ports/gateway.ts';
import type { TraceRole } from '../schema/conversation.ts';
import type { EventBody } from '../schema/event.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { Intent } from '../schema/review.ts';
import type { ChatRow, InboxRow, ReviewRow, RunRow, SquadRow, TurnRow } from './rows.ts';

/** Checked with its schema whenever it is read. */
type Json = string;
export interface MessageRow {
  id: string;
  run_id: RunId;
  turn: number;
  position: number;
  parent_id: string | null;
  label: string;
  role: TraceRole;
  content: Json;
  at: number;
}

export interface ConversationRow {
  run_id: RunId;
  label: string;
  subagent: string | null;
  started_at: number;
  is_closed: 0 | 1;
}

export interface IntentRow {
  id: string;
  kind: Intent['kind'];
  at: number;
  /** The other fields of the intent. */
  data: Json;
}

interface ReviewLimitRow {
  lineage_id: RunId;
  review_limit: number;
}

export interface EventRow {
  seq: number;
  at: number;
  run_id: RunId | null;
  squad_id: SquadId | null;
  type: EventBody['type'];
  /** The other fields of the body. */
  data: Json;
}

export type NewEventRow = Omit<EventRow, 'seq'>;

interface SettingRow {
  key: string;
  value: string;
}

interface ListedServerRow {
  workspace: string;
  server: string;
  source: string;
}

export interface PinRow extends ListedServerRow {
  name: string;
  state: PinState;
  hash: string;
  definition: Json;
  seen_at: number;
}

interface MigrationRow {
  name: string;
  applied_at: number;
  /** The version of Squad that applied it. */
  version: string;
}

export interface Tables {
  squads: SquadRow;
  runs: RunRow;
  turns: TurnRow;
  chats: ChatRow;
  reviews: ReviewRow;
  inbox: InboxRow;
  messages: MessageRow;
  conversations: ConversationRow;
  intents: IntentRow;
  review_limits: ReviewLimitRow;
  events: NewEventRow & { seq: Generated<number> };
  settings: SettingRow;
  listed_servers: ListedServerRow;
  tool_pins: PinRow;
  migrations: MigrationRow;
}
