import { z } from 'zod';
import type { Pin, PinKey } from '../core/ports/gateway.ts';
import { type Event, EventBody, type NewEvent } from '../schema/event.ts';
import { Evidence } from '../schema/evidence.ts';
import {
  type Chat,
  ChatTotals,
  Leftover,
  PolicyRule,
  type Run,
  RunError,
  RunOptions,
  Squad,
  type Turn,
  Usage,
} from '../schema/run.ts';
import { Worktree } from '../schema/worktree.ts';
import type { ChatRow, EventRow, NewEventRow, PinRow, RunRow, SquadRow, TurnRow } from './tables.ts';

export const squadToRow = (squad: Squad): SquadRow => ({
  id: squad.id,
  workspace: squad.workspace,
  client: squad.client,
  metadata: toJson(squad.metadata),
  created_at: squad.createdAt,
});

export const rowToSquad = (row: SquadRow): Squad => ({
  id: row.id,
  workspace: row.workspace,
  client: row.client,
  metadata: fromJson(Squad.shape.metadata, row.metadata, `metadata of ${row.id}`),
  createdAt: row.created_at,
});

export const runToRow = (run: Run): RunRow => ({
  id: run.id,
  squad_id: run.squadId,
  position: run.position,
  lineage_id: run.lineageId,
  role_id: run.roleId,
  type: run.type,
  review_of: run.reviewOf,
  task: run.task,
  title: run.title,
  cwd: run.cwd,
  directory: run.directory,
  workspace: run.workspace,
  worktree: toJson(run.worktree),
  engine: run.engine,
  output_is_events: run.outputIsEvents ? 1 : 0,
  model: run.model,
  state_mode: run.stateMode,
  chat_id: run.chatId,
  chat_is_new: run.chatIsNew ? 1 : 0,
  parent_id: run.parentId,
  depth: run.depth,
  client: run.client,
  timeout_ms: run.timeoutMs,
  keep_leftovers: run.keepLeftovers ? 1 : 0,
  options: JSON.stringify(run.options),
  policy: JSON.stringify(run.policy),
  token_hash: run.tokenHash,
  status: run.status,
  turn: run.turn,
  error: toJson(run.error),
  usage: toJson(run.usage),
  notes: JSON.stringify(run.notes),
  evidence: toJson(run.evidence),
  cost_usd: run.usage?.costUsd ?? null,
  created_at: run.createdAt,
  started_at: run.startedAt,
  ended_at: run.endedAt,
});

export const rowToRun = (row: RunRow): Run => ({
  id: row.id,
  squadId: row.squad_id,
  position: row.position,
  lineageId: row.lineage_id,
  roleId: row.role_id,
  type: row.type,
  reviewOf: row.review_of,
  task: row.task,
  title: row.title,
  cwd: row.cwd,
  directory: row.directory,
  workspace: row.workspace,
  worktree: fromJson(Worktree.nullable(), row.worktree, `work tree of ${row.id}`),
  engine: row.engine,
  outputIsEvents: row.output_is_events === 1,
  model: row.model,
  stateMode: row.state_mode,
  chatId: row.chat_id,
  chatIsNew: row.chat_is_new === 1,
  parentId: row.parent_id,
  depth: row.depth,
  client: row.client,
  timeoutMs: row.timeout_ms,
  keepLeftovers: row.keep_leftovers === 1,
  options: fromJson(RunOptions, row.options, `options of ${row.id}`),
  policy: fromJson(Policy, row.policy, `policy of ${row.id}`),
  tokenHash: row.token_hash,
  status: row.status,
  turn: row.turn,
  error: fromJson(RunError.nullable(), row.error, `error of ${row.id}`),
  usage: fromJson(Usage.nullable(), row.usage, `usage of ${row.id}`),
  notes: fromJson(Notes, row.notes, `notes of ${row.id}`),
  evidence: fromJson(Evidence.nullable(), row.evidence, `evidence of ${row.id}`),
  createdAt: row.created_at,
  startedAt: row.started_at,
  endedAt: row.ended_at,
});

export const turnToRow = (turn: Turn): TurnRow => ({
  run_id: turn.runId,
  number: turn.number,
  pid: turn.pid,
  started_at: turn.startedAt,
  deadline_at: turn.deadlineAt,
  stop: turn.stop,
  ended_at: turn.endedAt,
  exit_code: turn.exitCode,
  leftovers: JSON.stringify(turn.leftovers),
});

export const rowToTurn = (row: TurnRow): Turn => ({
  runId: row.run_id,
  number: row.number,
  pid: row.pid,
  startedAt: row.started_at,
  deadlineAt: row.deadline_at,
  stop: row.stop,
  endedAt: row.ended_at,
  exitCode: row.exit_code,
  leftovers: fromJson(Leftovers, row.leftovers, `leftovers of turn ${row.number} of ${row.run_id}`),
});

export const chatToRow = (chat: Chat): ChatRow => ({
  id: chat.id,
  engine: chat.engine,
  run_id: chat.runId,
  totals: toJson(chat.totals),
  created_at: chat.createdAt,
});

export const rowToChat = (row: ChatRow): Chat => ({
  id: row.id,
  engine: row.engine,
  runId: row.run_id,
  totals: fromJson(ChatTotals.nullable(), row.totals, `totals of chat ${row.id}`),
  createdAt: row.created_at,
});

export function eventToRow(event: NewEvent): NewEventRow {
  const { type, ...rest } = event.body;
  return { at: event.at, run_id: event.runId, squad_id: event.squadId, type, data: JSON.stringify(rest) };
}

export const rowToEvent = (row: EventRow): Event => ({
  seq: row.seq,
  at: row.at,
  runId: row.run_id,
  squadId: row.squad_id,
  body: fromJson(EventBody, row.data, `event ${row.seq}`, { type: row.type }),
});

export const pinToRow = ({ workspace, server, source }: PinKey, pin: Pin): PinRow => ({
  workspace,
  server,
  source,
  name: pin.name,
  state: pin.state,
  hash: pin.hash,
  definition: JSON.stringify(pin.definition),
  seen_at: pin.seenAt,
});

export const rowToPin = (row: PinRow): Pin => ({
  name: row.name,
  hash: row.hash,
  definition: fromJson(PinnedDefinition, row.definition, `pinned ${row.name} of ${row.server}`),
  state: row.state,
  seenAt: row.seen_at,
});

/** A row whose JSON is not what its schema says: somebody else wrote it, or the file is damaged. */
export class UnreadableRow extends Error {}

const Leftovers = z.array(Leftover);
const Policy = z.array(PolicyRule);
const Notes = z.array(z.string());
const PinnedDefinition = z.looseObject({ name: z.string() });

const toJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export function fromJson<T>(schema: z.ZodType<T>, text: string | null, what: string, extra?: object): T {
  // Nothing stored for a nullable column is the common case: no schema is needed to know what it means.
  if (text === null) return null as T;
  try {
    const value: unknown = JSON.parse(text);
    return schema.parse(extra ? { ...(value as object), ...extra } : value);
  } catch (cause) {
    throw new UnreadableRow(`the ${what} cannot be read`, { cause });
  }
}
