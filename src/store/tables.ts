import type { Generated } from 'kysely';
import type { PinState } from '../core/ports/gateway.ts';
import type { TraceRole } from '../schema/conversation.ts';
import type { EventBody } from '../schema/event.ts';
import type { InboxId, ReviewId, RunId, SquadId } from '../schema/ids.ts';
import type { InboxKind, InboxState, WithdrawnBecause } from '../schema/inbox.ts';
import type { AgentType, FeedbackBy, Intent, ReviewOutcome } from '../schema/review.ts';
import type { RunStatus, StateMode, StopReason } from '../schema/run.ts';

/** A column that holds JSON: checked with its schema whenever it is read. */
type Json = string;
/** Both databases understand 0 and 1; only one of them has a boolean. */
type Flag = 0 | 1;

export interface SquadRow {
  id: SquadId;
  workspace: string;
  client: string | null;
  metadata: Json | null;
  created_at: number;
}

export interface RunRow {
  id: RunId;
  squad_id: SquadId;
  position: number;
  lineage_id: RunId;
  role_id: string | null;
  type: AgentType | null;
  review_of: RunId | null;
  task: string;
  title: string | null;
  cwd: string;
  directory: string;
  workspace: string;
  worktree: Json | null;
  engine: string;
  output_is_events: Flag;
  model: string | null;
  state_mode: StateMode;
  chat_id: string | null;
  chat_is_new: Flag;
  parent_id: RunId | null;
  depth: number;
  client: string | null;
  timeout_ms: number;
  keep_leftovers: Flag;
  options: Json;
  policy: Json;
  token_hash: string | null;
  status: RunStatus;
  turn: number;
  error: Json | null;
  usage: Json | null;
  notes: Json;
  evidence: Json | null;
  /** Of the usage, for sums. */
  cost_usd: number | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

export interface TurnRow {
  run_id: RunId;
  number: number;
  pid: number | null;
  started_at: number;
  deadline_at: number;
  stop: StopReason | null;
  ended_at: number | null;
  exit_code: number | null;
  leftovers: Json;
}

export interface ChatRow {
  id: string;
  engine: string;
  run_id: RunId | null;
  totals: Json | null;
  created_at: number;
}

export interface ReviewRow {
  id: ReviewId;
  lineage_id: RunId;
  coder_id: RunId;
  reviewer_id: RunId;
  iteration: number;
  commit: string;
  completion_message: string | null;
  outcome: ReviewOutcome | null;
  reason: string | null;
  feedback: string | null;
  feedback_by: FeedbackBy | null;
  priority: string | null;
  actionable_items: Json;
  feedback_commit: string | null;
  requested_at: number;
  deadline_at: number;
  closed_at: number | null;
  told_in_turn: number | null;
}

export interface InboxRow {
  id: InboxId;
  run_id: RunId;
  squad_id: SquadId;
  kind: InboxKind;
  source: string | null;
  question: string;
  details: string | null;
  choices: Json;
  fields: Json;
  owner: 'user' | RunId;
  default_answer: string | null;
  created_at: number;
  deadline_at: number;
  state: InboxState;
  answer: string | null;
  answered_by: Json | null;
  answered_at: number | null;
  heard_at: number | null;
  use_key: string | null;
  withdrawn_because: WithdrawnBecause | null;
}

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
  is_closed: Flag;
}

export interface IntentRow {
  id: string;
  kind: Intent['kind'];
  at: number;
  /** The intent without the rest of its columns. */
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
  /** The body without its type. */
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
