import { z } from 'zod';
import { RunId, SquadId } from './ids.ts';

const END_STATUSES = [
  'completed',
  'error',
  'timeout',
  'cancelled',
  'terminated',
  'abandoned',
  'lost',
] as const;

export const RunStatus = z.enum(['queued', 'running', 'waiting_review', ...END_STATUSES]);
export type RunStatus = z.infer<typeof RunStatus>;
export type EndStatus = (typeof END_STATUSES)[number];

export const isEnd = (status: RunStatus): status is EndStatus =>
  (END_STATUSES as readonly string[]).includes(status);

/** Why Squad itself is ending a turn. Recorded before the first signal, so that a crash cannot hide it. */
export const StopReason = z.enum(['cancel', 'timeout', 'output_limit']);
export type StopReason = z.infer<typeof StopReason>;

export const RunError = z.object({ code: z.string(), message: z.string() });
export type RunError = z.infer<typeof RunError>;

/** What the engine itself reported. A field it did not report is null, never 0. */
export const Usage = z.object({
  input: z.number().nullable(),
  output: z.number().nullable(),
  cached: z.number().nullable(),
  costUsd: z.number().nullable(),
});
export type Usage = z.infer<typeof Usage>;

export const StateMode = z.enum(['stateless', 'stateful']);
export type StateMode = z.infer<typeof StateMode>;

/** A process a turn left behind and Squad ended. */
export const Leftover = z.object({ pid: z.number(), command: z.string() });
export type Leftover = z.infer<typeof Leftover>;

export const Run = z.object({
  id: RunId,
  squadId: SquadId,
  /** Place among the squad's members, from 0: results come back in this order. */
  position: z.number(),
  roleId: z.string(),
  task: z.string(),
  /** As the caller gave it. */
  cwd: z.string(),
  /** Where the agent really works: absolute, links resolved. */
  directory: z.string(),
  workspace: z.string(),
  engine: z.string(),
  model: z.string().nullable(),
  stateMode: StateMode,
  chatId: z.string().nullable(),
  /** True when this run opened its chat. */
  chatIsNew: z.boolean(),
  /** The run that asked for this one. */
  parentId: RunId.nullable(),
  depth: z.number(),
  client: z.string().nullable(),
  timeoutMs: z.number(),
  keepLeftovers: z.boolean(),
  status: RunStatus,
  error: RunError.nullable(),
  usage: Usage.nullable(),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
});
export type Run = z.infer<typeof Run>;

/** One process on one chat. A run's current turn is its highest number. */
export const Turn = z.object({
  runId: RunId,
  number: z.number(),
  pid: z.number().nullable(),
  startedAt: z.number(),
  deadlineAt: z.number(),
  stop: StopReason.nullable(),
  endedAt: z.number().nullable(),
  exitCode: z.number().nullable(),
  leftovers: z.array(Leftover),
});
export type Turn = z.infer<typeof Turn>;

export const Squad = z.object({
  id: SquadId,
  workspace: z.string(),
  client: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  createdAt: z.number(),
});
export type Squad = z.infer<typeof Squad>;

export const Chat = z.object({
  id: z.string(),
  engine: z.string(),
  /** The run that holds the chat now; a second run on it is refused. */
  runId: RunId.nullable(),
  createdAt: z.number(),
});
export type Chat = z.infer<typeof Chat>;
