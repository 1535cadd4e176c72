import { z } from 'zod';
import { Evidence } from './evidence.ts';
import { RunId, SquadId } from './ids.ts';
import { OwnServers } from './mcp-config.ts';
import { AgentType } from './review.ts';
import { NO_SANDBOX, RunSandbox } from './sandbox.ts';
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

export const RunStatus = z.enum([
  'queued',
  'running',
  'waiting_review',
  'waiting_children',
  'waiting_limit',
  ...END_STATUSES,
]);
export type RunStatus = z.infer<typeof RunStatus>;

/** Status for people and tools. `needs_you`: a completed run that reached its review limit and needs a decision. */
export const ShownStatus = z.enum([...RunStatus.options, 'needs_you']);
export type ShownStatus = z.infer<typeof ShownStatus>;
export type EndStatus = (typeof END_STATUSES)[number];

export const isEnd = (status: RunStatus): status is EndStatus =>
  (END_STATUSES as readonly string[]).includes(status);

/** Why Squad stops a turn. Recorded before the first signal, so that a crash cannot hide it. */
export const StopReason = z.enum([
  'cancel',
  'timeout',
  'output_limit',
  'budget',
  'stall',
  // A reviewer has sent its feedback, so it is stopped.
  'terminate',
  // The task was abandoned, so its runs are stopped.
  'abandon',
]);
export type StopReason = z.infer<typeof StopReason>;

export const RunError = z.object({ code: z.string(), message: z.string() });
export type RunError = z.infer<typeof RunError>;

/** Usage as reported by the engine. A figure that the engine did not report is null, never 0. */
export const Usage = z.object({
  /** All input tokens: fresh, written into a cache, and read from one. */
  input: z.number().nullable(),
  /** All output tokens, including reasoning. */
  output: z.number().nullable(),
  /** The part of the input that was read from a cache. */
  cached: z.number().nullable(),
  costUsd: z.number().nullable(),
  /** True if the cost was calculated from a price list, because the engine reports only tokens. */
  costIsEstimated: z.boolean(),
});
export type Usage = z.infer<typeof Usage>;

export const StateMode = z.enum(['stateless', 'stateful']);
export type StateMode = z.infer<typeof StateMode>;

/**
 * `read`: the agent may only read. `edit`: it may also change files and run commands in its folder. `full`: no
 * restrictions.
 */
export const Permission = z.enum(['read', 'edit', 'full']);
export type Permission = z.infer<typeof Permission>;

/** Handling of an action that the agent has no permission for: deny it, or ask the user if the engine supports that. */
export const Approvals = z.enum(['deny', 'ask']);
export type Approvals = z.infer<typeof Approvals>;

/**
 * Agents and people that an agent may send messages to: members of its squad and other runs of its lead, runs below its
 * own, the run that started its own, and the client that started it.
 */
export const MessageTarget = z.enum(['sibling', 'child', 'lead', 'client']);
export type MessageTarget = z.infer<typeof MessageTarget>;

/** State of a message from an agent. `client` means that it is in the run's result, for the client. */
export const MessageDelivery = z.enum(['in_turn', 'queued', 'next_turn', 'client', 'undelivered']);
export type MessageDelivery = z.infer<typeof MessageDelivery>;

/** Events that give a run another turn after its turn has ended. */
export const Wake = z.enum(['on_child_end']);
export type Wake = z.infer<typeof Wake>;

export const JsonSchema = z.record(z.string(), z.unknown());
export type JsonSchema = z.infer<typeof JsonSchema>;

/**
 * The ended run whose task this run continues, with the same request (`retry`) or with a new message on its chat
 * (`reply`).
 */
export const TakesUp = z.object({ runId: RunId, by: z.enum(['retry', 'reply']) });
export type TakesUp = z.infer<typeof TakesUp>;

/** Effect of usage limits of engines on a run so far. */
export const LimitState = z.object({
  /** When the run continues. Null if it does not wait. */
  until: z.number().nullable(),
  /** Number of waits. */
  waits: z.number(),
  /** When the run began to wait for the first time. Null if it has not waited. */
  since: z.number().nullable(),
  /** Turns with which another engine of the role's list took over. */
  takeovers: z.array(z.number()),
});
export type LimitState = z.infer<typeof LimitState>;

/** Options of a run. Fixed when the run is planned, and the same for all its turns. */
export const RunOptions = z.object({
  /** Tools that the agent may use. Null means the engine's default tools. */
  tools: z.array(z.string()).nullable(),
  permission: Permission,
  approvals: Approvals.default('deny'),
  /** Whom the agent may send messages to. */
  messages: z.array(MessageTarget).default([]),
  wake: Wake.nullable().default(null),
  effort: z.string().nullable(),
  /** The run is stopped after this many milliseconds without activity. With null it is never stopped for that. */
  stallMs: z.number().nullable(),
  budgetUsd: z.number().nullable(),
  /** False if exceeding the budget is only reported. */
  stopAtBudget: z.boolean(),
  outputSchema: JsonSchema.nullable(),
  /** True if the agent may start other runs. */
  spawn: z.boolean(),
  /** Gateway servers from the role, in addition to those of the gateway's configuration: `server` or `server/tool`. */
  mcp: z.array(z.string()).default([]),
  /** MCP servers of a subagent file, used instead of the workspace's, or of an editor, used in addition to them. */
  servers: OwnServers.nullable().default(null),
  /** Name of the subagent, if the run is a call of one. */
  subagent: z.string().nullable().default(null),
  /** True if the client asked for a notification at the end of the run. */
  notify: z.boolean(),
  /** How to prepare the run's work tree. Null if it has none. */
  setup: WorktreeSettings.nullable().default(null),
  /** Command to run when the run has ended. */
  onEnd: z.array(z.string()).nullable(),
  /** Command to run when the agent asks the user something. */
  onAsk: z.array(z.string()).nullable().default(null),
  /** The run that this one continues. Null for a new task, and for runs of older versions. */
  takesUp: TakesUp.nullable().default(null),
  /** Chat of the engine that the run's own chat begins as a copy of. Null if it begins empty, or continues a chat. */
  forksChat: z.string().nullable().default(null),
  sandbox: RunSandbox.default(NO_SANDBOX),
  /** Machine of the run. Null means the hub's own. */
  machine: z.string().nullable().default(null),
  /** How the machine was chosen, as in `--on`. Null for the hub's own machine. */
  placedBy: z.string().nullable().default(null),
  /**
   * True if the run starts again when its agent is lost with its machine or hub. The next machine is chosen in the same
   * way.
   */
  takeover: z.boolean().default(false),
  /** Number of the current attempt, and the turn with which the attempt began. */
  attempt: z.object({ number: z.number(), turn: z.number() }).default({ number: 1, turn: 1 }),
  /** True if the agent only reads its prompt, because it could not be started as an agent that reads lines. */
  promptOnly: z.boolean().default(false),
  /** How long the run may wait for usage limits of its engine. Null if such a limit ends the run. */
  parkMs: z.number().nullable().default(null),
  /** Null until the run reached a usage limit that did not end it. */
  limit: LimitState.nullable().default(null),
});
export type RunOptions = z.infer<typeof RunOptions>;

/**
 * A limit for a run, and who enforces it: Squad or the system, the engine, or nobody (`advisory`: it is only part of
 * the prompt).
 */
export const PolicyRule = z.object({
  rule: z.string(),
  heldBy: z.enum(['system', 'engine', 'advisory']),
  note: z.string().nullable(),
});
export type PolicyRule = z.infer<typeof PolicyRule>;

/** A process that a turn left behind and Squad killed. */
export const Leftover = z.object({ pid: z.number(), command: z.string() });
export type Leftover = z.infer<typeof Leftover>;

export const Run = z.object({
  id: RunId,
  squadId: SquadId,
  /** Index among the squad's members; results are returned in this order. */
  position: z.number(),
  /** The first run of the task. Retries, replies and reviews have the same lineage. */
  lineageId: RunId,
  /** Id of the role. Null for a run without a role. */
  roleId: z.string().nullable(),
  /** The role's part in a review loop. Null if it has none. */
  type: AgentType.nullable(),
  /** The run that this run reviews; both have the same lineage. Null if this run is no reviewer. */
  reviewOf: RunId.nullable(),
  task: z.string(),
  /** Title that lists show instead of the beginning of the task. */
  title: z.string().nullable(),
  /** Working folder as given by the caller. */
  cwd: z.string(),
  /** The agent's actual working folder: absolute, links resolved. */
  directory: z.string(),
  workspace: z.string(),
  /** The run's own work tree, which replies share. Null if the run works in the caller's folder. */
  worktree: Worktree.nullable(),
  engine: z.string(),
  /**
   * True if the output consists of event lines of the engine. The answer is taken from the events, not from the lines
   * themselves.
   */
  outputIsEvents: z.boolean(),
  /** The requested model, replaced by the actual one when the engine reports it. */
  model: z.string().nullable(),
  stateMode: StateMode,
  chatId: z.string().nullable(),
  /** False if the run continues an existing chat. */
  chatIsNew: z.boolean(),
  /** The run that started this one. */
  parentId: RunId.nullable(),
  depth: z.number(),
  client: z.string().nullable(),
  timeoutMs: z.number(),
  keepLeftovers: z.boolean(),
  options: RunOptions,
  policy: z.array(PolicyRule),
  /** SHA-256 of the token with which the agent authenticates as this run. Null before the start and after the end. */
  tokenHash: z.string().nullable(),
  status: RunStatus,
  /** Number of the current turn, or of the turn that the run is queued for. */
  turn: z.number(),
  error: RunError.nullable(),
  usage: Usage.nullable(),
  /** Notes for readers of the result, for example an exceeded budget or an unknown figure. */
  notes: z.array(z.string()),
  /** Evidence of the run. Null until the run has ended. */
  evidence: Evidence.nullable(),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
});
export type Run = z.infer<typeof Run>;

/** A run without its secrets. */
export const ShownRun = Run.omit({ tokenHash: true }).extend({
  // The servers are left out: their definitions should refer to secrets by variables, but may contain them.
  options: RunOptions.omit({ servers: true }),
});
export type ShownRun = z.infer<typeof ShownRun>;

export function shownRun({ tokenHash, options: { servers, ...options }, ...run }: Run): ShownRun {
  return { ...run, options };
}

const MAX_SUMMARY_LENGTH = 80;

/** One short line: the title, or the beginning of the task. */
export function runSummary({ title, task }: Pick<Run, 'title' | 'task'>): string {
  const line = (title ?? task).trim().split('\n', 1)[0] ?? '';
  return line.length > MAX_SUMMARY_LENGTH ? `${line.slice(0, MAX_SUMMARY_LENGTH - 1).toWellFormed()}…` : line;
}

/** Summary with the run's name, for places that do not show the name separately. */
export const namedSummary = (run: Pick<Run, 'title' | 'task' | 'options'>): string =>
  run.options.subagent === null ? runSummary(run) : `${run.options.subagent}: ${runSummary(run)}`;

/** One agent process. A run's current turn has the highest number. */
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
  /** State of the engine's own chat file when the totals were reported. Null if the file was not found. */
  mark: z.string().nullable().default(null),
});
export type ChatTotals = z.infer<typeof ChatTotals>;

export const Chat = z.object({
  id: z.string(),
  engine: z.string(),
  /** The run that uses the chat now; a second run on the same chat is refused. */
  runId: RunId.nullable(),
  /** Last reported totals of the whole chat, for engines that count from its beginning. */
  totals: ChatTotals.nullable(),
  createdAt: z.number(),
});
export type Chat = z.infer<typeof Chat>;
