import { z } from 'zod';
import { Evidence } from './evidence.ts';
import { RunId, SquadId } from './ids.ts';
import { OwnServers } from './mcp-config.ts';
import { AgentType } from './review.ts';
import { Worktree, WorktreeSettings } from './worktree.ts';

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

/** A status as people and tools see it. A completed run whose reviews ran out needs a decision: it is not simply done. */
export const ShownStatus = z.enum([...RunStatus.options, 'needs_you']);
export type ShownStatus = z.infer<typeof ShownStatus>;
export type EndStatus = (typeof END_STATUSES)[number];

export const isEnd = (status: RunStatus): status is EndStatus =>
  (END_STATUSES as readonly string[]).includes(status);

/** Why Squad itself is ending a turn. Recorded before the first signal, so that a crash cannot hide it. */
export const StopReason = z.enum([
  'cancel',
  'timeout',
  'output_limit',
  'budget',
  'stall',
  // Its part in a review is done; its task was given up.
  'terminate',
  'abandon',
]);
export type StopReason = z.infer<typeof StopReason>;

export const RunError = z.object({ code: z.string(), message: z.string() });
export type RunError = z.infer<typeof RunError>;

/** What the engine itself reported. A field it did not report is null, never 0. */
export const Usage = z.object({
  /** All input tokens: fresh, written into a cache, and read from one. */
  input: z.number().nullable(),
  /** Reasoning included. */
  output: z.number().nullable(),
  /** The part of the input that was read from a cache. */
  cached: z.number().nullable(),
  costUsd: z.number().nullable(),
  /** True when the money was worked out from a price list, because the engine reports tokens only. */
  costIsEstimated: z.boolean(),
});
export type Usage = z.infer<typeof Usage>;

export const StateMode = z.enum(['stateless', 'stateful']);
export type StateMode = z.infer<typeof StateMode>;

/** What an agent may do: look, also change files and run commands in its folder, or anything at all. */
export const Permission = z.enum(['read', 'edit', 'full']);
export type Permission = z.infer<typeof Permission>;

/** What becomes of something its engine has no permission for: refused, or asked of the user first where the engine can ask. */
export const Approvals = z.enum(['deny', 'ask']);
export type Approvals = z.infer<typeof Approvals>;

export const JsonSchema = z.record(z.string(), z.unknown());
export type JsonSchema = z.infer<typeof JsonSchema>;

/** A run that goes on with the task of another that has ended: the same request once more, or more words on its chat. */
export const TakesUp = z.object({ runId: RunId, by: z.enum(['retry', 'reply']) });
export type TakesUp = z.infer<typeof TakesUp>;

/** What was asked for or granted beyond the task: settled when the run is planned, and the same for all its turns. */
export const RunOptions = z.object({
  /** Null: the engine's own set. */
  tools: z.array(z.string()).nullable(),
  permission: Permission,
  approvals: Approvals.default('deny'),
  effort: z.string().nullable(),
  /** Stopped after this long without a sign of life; null: never for that. */
  stallMs: z.number().nullable(),
  budgetUsd: z.number().nullable(),
  /** False: going over the budget is told, not stopped. */
  stopAtBudget: z.boolean(),
  outputSchema: JsonSchema.nullable(),
  /** May start runs of its own. */
  spawn: z.boolean(),
  /** What its role says it has of other MCP servers, beside what the gateway's configuration gives it: `server` or `server/tool`. */
  mcp: z.array(z.string()).default([]),
  /** MCP servers of its own, which it has instead of the workspace's: those of a subagent's file. */
  servers: OwnServers.nullable().default(null),
  /** The name of the subagent it is a call of. */
  subagent: z.string().nullable().default(null),
  /** The client asked to be told of the end. */
  notify: z.boolean(),
  /** What makes its work tree usable; null: it has none of its own. */
  setup: WorktreeSettings.nullable().default(null),
  /** A command of the user's, run when the run has ended. */
  onEnd: z.array(z.string()).nullable(),
  /** And one that is run when its agent asks something of the user. */
  onAsk: z.array(z.string()).nullable().default(null),
  /** The run it takes up again; null: its task is new, or this was not kept yet. */
  takesUp: TakesUp.nullable().default(null),
});
export type RunOptions = z.infer<typeof RunOptions>;

/** One limit on a run, and who holds it: Squad itself, the engine's own checks, or only the words of its instructions. */
export const PolicyRule = z.object({
  rule: z.string(),
  heldBy: z.enum(['system', 'engine', 'advisory']),
  note: z.string().nullable(),
});
export type PolicyRule = z.infer<typeof PolicyRule>;

/** A process a turn left behind and Squad ended. */
export const Leftover = z.object({ pid: z.number(), command: z.string() });
export type Leftover = z.infer<typeof Leftover>;

export const Run = z.object({
  id: RunId,
  squadId: SquadId,
  /** Place among the squad's members, from 0: results come back in this order. */
  position: z.number(),
  /** The first run of the task: a retry, a reply or a review of it carries the same. */
  lineageId: RunId,
  /** Null for a bare prompt. */
  roleId: z.string().nullable(),
  /** What its role is for in a review loop; null: it takes no part in one. */
  type: AgentType.nullable(),
  /** The run it reviews; its lineage is that run's. */
  reviewOf: RunId.nullable(),
  task: z.string(),
  /** What listings show instead of the beginning of the task. */
  title: z.string().nullable(),
  /** As the caller gave it. */
  cwd: z.string(),
  /** Where the agent really works: absolute, links resolved. */
  directory: z.string(),
  workspace: z.string(),
  /** The work tree it has to itself; null: it works in the caller's folder. A reply goes on in the one of the run before. */
  worktree: Worktree.nullable(),
  engine: z.string(),
  /** Its output is events of its engine: its answer is what they say, never the lines themselves. */
  outputIsEvents: z.boolean(),
  /** As asked for; then, once its engine has said it, the one really used. */
  model: z.string().nullable(),
  stateMode: StateMode,
  chatId: z.string().nullable(),
  /** False when this run goes on with a chat that was there before. */
  chatIsNew: z.boolean(),
  /** The run that asked for this one. */
  parentId: RunId.nullable(),
  depth: z.number(),
  client: z.string().nullable(),
  timeoutMs: z.number(),
  keepLeftovers: z.boolean(),
  options: RunOptions,
  policy: z.array(PolicyRule),
  /** SHA-256 of the token its agent shows to be known as this run; null before its start and after its end. */
  tokenHash: z.string().nullable(),
  status: RunStatus,
  /** Its current turn, or the one it is queued for. */
  turn: z.number(),
  error: RunError.nullable(),
  usage: Usage.nullable(),
  /** What a reader of the result should know beside it: a budget that was gone over, a figure that is not known and why. */
  notes: z.array(z.string()),
  /** What Squad saw for itself; null until the end. */
  evidence: Evidence.nullable(),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
});
export type Run = z.infer<typeof Run>;

/** A run as anybody may see it. */
export const ShownRun = Run.omit({ tokenHash: true }).extend({
  // A file should name secrets by their variables; whoever looks at a run is not to read the others either.
  options: RunOptions.omit({ servers: true }),
});
export type ShownRun = z.infer<typeof ShownRun>;

export function shownRun({ tokenHash, options: { servers, ...options }, ...run }: Run): ShownRun {
  return { ...run, options };
}

const MAX_SUMMARY_LENGTH = 80;

/** What a run is about, on one short line: its title, or how its task begins. */
export function runSummary({ title, task }: Pick<Run, 'title' | 'task'>): string {
  const line = (title ?? task).trim().split('\n', 1)[0] ?? '';
  return line.length > MAX_SUMMARY_LENGTH ? `${line.slice(0, MAX_SUMMARY_LENGTH - 1).toWellFormed()}…` : line;
}

/** The same for who is told no name beside it. */
export const namedSummary = (run: Pick<Run, 'title' | 'task' | 'options'>): string =>
  run.options.subagent === null ? runSummary(run) : `${run.options.subagent}: ${runSummary(run)}`;

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

export const ChatTotals = Usage.extend({
  /** How the engine's own record of the chat looked then; null: it was not found. */
  mark: z.string().nullable().default(null),
});
export type ChatTotals = z.infer<typeof ChatTotals>;

export const Chat = z.object({
  id: z.string(),
  engine: z.string(),
  /** The run that holds the chat now; a second run on it is refused. */
  runId: RunId.nullable(),
  /** What the engine last reported for the whole chat, where it counts from the chat's beginning. */
  totals: ChatTotals.nullable(),
  createdAt: z.number(),
});
export type Chat = z.infer<typeof Chat>;
