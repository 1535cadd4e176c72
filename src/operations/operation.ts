import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { Traces } from '../core/conversations/recorder.ts';
import type { FormReply } from '../core/inbox/client-form.ts';
import type { Inbox } from '../core/inbox/inbox.ts';
import type { BranchStates } from '../core/integration/branch-states.ts';
import type { Integrator } from '../core/integration/integrator.ts';
import type { AgentAccess } from '../core/policy.ts';
import type { Engines } from '../core/ports/engine.ts';
import type { AuditTrail, GatewayAdmin, McpConfigs } from '../core/ports/gateway.ts';
import type { Integration } from '../core/ports/integration.ts';
import type { MachineAdmin, Machines } from '../core/ports/machines.ts';
import type { RunFiles } from '../core/ports/run-files.ts';
import type { Sessions, Terminals } from '../core/ports/sessions.ts';
import type { MessageStore, OtherHub, Store, TextSearch } from '../core/ports/store.ts';
import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { FolderChanges, Worktrees } from '../core/ports/worktrees.ts';
import type { Proposals } from '../core/review/pull-requests.ts';
import type { ReviewLoop } from '../core/review/review-loop.ts';
import type { BoardPages } from '../core/runs/board.ts';
import type { LastActivity } from '../core/runs/last-activity.ts';
import type { Runner } from '../core/runs/runner.ts';
import type { SettingsInForce } from '../core/settings/hub-settings.ts';
import type { CliId } from '../schema/engine-spec.ts';
import type { RunId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { Run } from '../schema/run.ts';
import type { Toolset } from '../schema/toolset.ts';

/**
 * The store methods that agents may use, each limited to runs that they may see. Other methods do not exist in this
 * type.
 */
export type AgentStore = Pick<
  Store,
  | 'run'
  | 'runs'
  | 'squad'
  | 'squadsOfBacklog'
  | 'otherOwner'
  | 'hubsOf'
  | 'requestStop'
  | 'liveElsewhere'
  | 'liveRuns'
  | 'turns'
  | 'events'
  | 'onEvents'
  | 'follow'
  | 'review'
  | 'reviews'
  | 'reviewLimit'
  | 'figures'
  | 'idsLike'
  | 'recentIds'
  | 'spent'
  | 'leftWithError'
>;

/** Services of operations that agents may call. */
export interface Services {
  clock: Clock;
  store: AgentStore;
  files: RunFiles;
  engines: Engines;
  workspaces: Workspaces;
  workTree: FolderChanges;
  worktrees: Worktrees;
  integration: Pick<Integration, 'touched' | 'tips'>;
  integrator: Pick<Integrator, 'plan' | 'carryOut' | 'checkNow'>;
  branchStates: Pick<BranchStates, 'of'>;
  sessions: Sessions;
  terminals: Terminals;
  activity: Pick<LastActivity, 'of'>;
  traces: Pick<Traces, 'on' | 'savedOf'>;
  conversations: Pick<MessageStore, 'messages' | 'message' | 'countMessages' | 'conversations' | 'talkers'>;
  /** Lists of runs that clients read page by page. */
  boards: BoardPages;
  search: TextSearch;
  runner: Pick<
    Runner,
    | 'submit'
    | 'admit'
    | 'current'
    | 'usageOf'
    | 'remainingBudget'
    | 'earlyBaseline'
    | 'sandboxProblem'
    | 'confinedCommand'
    | 'silenceOf'
    | 'timeLeft'
    | 'isStopping'
    | 'liveRuns'
    | 'untilAnswered'
    | 'untilEnded'
    | 'whileWaiting'
    | 'stop'
    | 'note'
    | 'pump'
    | 'tell'
    | 'send'
    | 'isFed'
  >;
  reviews: Pick<
    ReviewLoop,
    | 'request'
    | 'feedback'
    | 'answer'
    | 'cancel'
    | 'allow'
    | 'abandon'
    | 'openedPullRequest'
    | 'reviewBy'
    | 'openReviewOf'
    | 'rounds'
    | 'untilIdle'
  >;
  inbox: Pick<
    Inbox,
    | 'ask'
    | 'answer'
    | 'decline'
    | 'untilClosed'
    | 'deliver'
    | 'markResumed'
    | 'open'
    | 'openOf'
    | 'openFor'
    | 'notify'
    | 'isNotified'
    | 'openElsewhere'
    | 'find'
    | 'owned'
    | 'list'
    | 'askedBy'
    | 'onAsked'
  >;
  /** Opens pull requests and creates issues. */
  proposals: Pick<Proposals, 'open' | 'createIssues'>;
  /** Configurations of the workspaces' other MCP servers. */
  mcpConfigs: Pick<McpConfigs, 'of'>;
  gateway: GatewayAdmin;
  audit: AuditTrail;
  machines: Machines;
  settings: Pick<SettingsInForce, 'all' | 'isSet' | 'set'>;
  hub: HubControl;
  /**
   * Creates a temporary repository for the demo. `env` is the environment for the demo's agents. Throws SPAWN_FAILED.
   */
  demo: { make(): Promise<{ folder: string; env: Record<string, string> }> };
}

/** Services of operations that only the user may call. Created once, in `src/app.ts`. */
export interface UserServices extends Services {
  store: Store;
  machines: MachineAdmin;
  otherHubs: OtherHubs;
}

export interface OtherHubs {
  /**
   * Has the hub that owns a run carry out an operation for the user. Throws RUN_ELSEWHERE if that hub is not running or
   * the operation is only possible there.
   */
  carryOut(
    at: { runId: RunId; hub: OtherHub },
    operation: Operation,
    input: unknown,
    call: Call<UserServices>,
  ): Promise<unknown>;
}

export interface HubControl {
  status(): HubStatus;
  /** Sets the environment of runs that the web UI starts from now on. */
  lendEnvironment(env: Record<string, string>): void;
  /**
   * Returns the origin of the web UI and a key for it. With `ip` the origin is at 127.0.0.1. Null if the hub has no
   * port.
   */
  openWebUi(ip: boolean): Promise<{ origin: string; key: string } | null>;
  /**
   * Runs a wait for a person, which must not delay a stop of the hub or a newer hub. When the signal aborts, `wait`
   * must return at once.
   */
  whileAsking<T>(wait: (stopping: AbortSignal) => Promise<T>): Promise<T>;
  /** Ends the hub after the reply is sent; agents keep running. */
  stop(reason: string): void;
  /** Writes the complete error to the hub's log; the caller sees only its message. */
  reportBug(operation: string, thrown: unknown): void;
}

export const HubStatus = z.object({
  version: z.string(),
  pid: z.number(),
  home: z.string(),
  socket: z.string(),
  database: z.string(),
  startedAt: z.number(),
  clients: z.number(),
  callsInFlight: z.number(),
  sessions: z.number().describe('MCP sessions that are open over HTTP'),
  memoryBytes: z.number(),
  url: z.string().nullable().describe('Null until the port is bound'),
  page: z
    .string()
    .nullable()
    .describe('Origin of the web UI, different at each start. Null until the port is bound'),
  tokenFile: z.string(),
  warnings: z.array(z.string()).describe('Environment variables that the hub could not use'),
  restored: z
    .string()
    .nullable()
    .describe(
      'Fault of the database at the start of this hub, and the restored runs. Null if there was none',
    ),
  successor: z
    .string()
    .nullable()
    .describe('The newer version this hub hands over to as soon as no call is in flight'),
});
export type HubStatus = z.infer<typeof HubStatus>;

/** A call of an operation, from any interface. */
export interface Call<S extends Services = Services> {
  services: S;
  caller: Caller;
  /** Name of the tool that was called. Absent if the operation was not called as a tool. */
  tool?: string;
  signal: AbortSignal;
  /** Time after which the operation must reply with the current state. 0 means at once, null means no limit. */
  waitMs: number | null;
  /** How long the client allows one call to take. Null or absent without a limit. */
  ceilingMs?: number | null;
  /** Sends a heartbeat to the waiting caller. */
  progress(message: string): Promise<void>;
  /** Called with the runs that this call has started. */
  onStarted?(runs: Run[], warnings: readonly string[]): void;
  /** Shows an open question to the person at the client while the call waits. */
  askPerson?(item: InboxItem, signal: AbortSignal): Promise<FormReply>;
  /** Called with the questions that made the wait end. */
  onAsked?(items: readonly InboxItem[]): void;
  /** Called when every run in the result has failed, so that the call counts as failed too. */
  onFailed?(): void;
  /**
   * True if the caller is a model's client. Such a client gets only the beginning of a question that does not fit into
   * a result.
   */
  isByModel?: true;
  /** The following fields are only for operations that stream their output. */
  /** Sends one item. Returns a promise if the client reads too slowly: whoever has much to send must wait for it. */
  emit(item: unknown): void | Promise<void>;
}

/**
 * Path in the REST API, below `/api`. Input fields of the path are in braces; all others are in the query or the JSON
 * body.
 */
export type Route = `${'GET' | 'POST'} /${string}`;

export interface Operation<
  N extends string = string,
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  R extends Route | null = Route | null,
  A extends AgentAccess | null = AgentAccess | null,
> {
  name: N;
  route: R;
  /** Condition under which an agent may call the operation. Null if only the user may call it. */
  agents: A;
  /** Title and description of the MCP tool. Null if the operation is no tool. */
  tool: Tool | null;
  input: I;
  output: O;
  run(call: Call<A extends null ? UserServices : Services>, input: z.output<I>): Promise<z.input<O>>;
}

export interface Tool {
  title: string;
  description: string;
  readOnly: boolean;
  /**
   * True if only agents have this tool. Policy decides by the type of their role. Errors of the tool have no outer
   * object.
   */
  forAgents?: true;
  /** True if the caller is a program that reads the result as one text and fails on anything else. */
  textOnly?: true;
  /** Toolset that lists the operation (default: `core`). */
  toolset?: Toolset;
  /** True if the tool is also listed by default for clients whose workspace has team files. */
  isDefaultWithTeam?: true;
  /** The tool is listed only if this agent CLI is installed. */
  needs?: CliId;
  /** Input schema in stateless mode, if it differs. */
  statelessInput?: z.ZodType;
  /** A shorter input schema for the tool list, because its size costs every client context. */
  listedInput?: z.ZodType;
  /**
   * Describes the MCP task that a waiting tool returns to a client with support for tasks. `isOpen` is true if there
   * is something to wait for.
   */
  task?(result: unknown, input: unknown): { id: string; isOpen: boolean };
}

/** By default only the user may call an operation, and it is no tool. */
export const operation = <
  const N extends string,
  I extends z.ZodType,
  O extends z.ZodType,
  const R extends Route | null,
  const A extends AgentAccess | null = null,
>(
  definition: Omit<Operation<N, I, O, R, A>, 'agents' | 'tool'> & { agents?: A; tool?: Tool },
): Operation<N, I, O, R, A> => ({ agents: null as A, tool: null, ...definition });
