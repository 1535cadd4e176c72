import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { Traces } from '../core/conversations/recorder.ts';
import type { FormReply } from '../core/inbox/client-form.ts';
import type { Inbox } from '../core/inbox/inbox.ts';
import type { Integrator } from '../core/integration/integrator.ts';
import type { AgentAccess } from '../core/policy.ts';
import type { FolderChanges } from '../core/ports/changes.ts';
import type { Engines } from '../core/ports/engine.ts';
import type { AuditTrail, GatewayAdmin, McpConfigs } from '../core/ports/gateway.ts';
import type { Integration } from '../core/ports/integration.ts';
import type { MessageStore } from '../core/ports/messages.ts';
import type { RunFiles } from '../core/ports/run-files.ts';
import type { Sessions, Terminals } from '../core/ports/sessions.ts';
import type { Store } from '../core/ports/store.ts';
import type { TextSearch } from '../core/ports/text-search.ts';
import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { Branches, Worktrees } from '../core/ports/worktrees.ts';
import type { Proposals } from '../core/review/pull-requests.ts';
import type { ReviewLoop } from '../core/review/review-loop.ts';
import type { BoardPages } from '../core/runs/board.ts';
import type { LastActivity } from '../core/runs/last-activity.ts';
import type { Runner } from '../core/runs/runner.ts';
import type { HubSettingKey, HubSettings } from '../schema/config.ts';
import type { CliId } from '../schema/engine-spec.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { Run } from '../schema/run.ts';
import type { Toolset } from '../schema/toolset.ts';

/** The reads of the store that agents may use, each limited to runs they may see. A method that is not named here does not exist for them. */
export type AgentStore = Pick<
  Store,
  | 'run'
  | 'runs'
  | 'squad'
  | 'liveRuns'
  | 'turns'
  | 'events'
  | 'onEvents'
  | 'review'
  | 'reviews'
  | 'reviewLimit'
  | 'figures'
  | 'idsLike'
  | 'recentIds'
  | 'spent'
  | 'leftWithError'
>;

/** Services of an operation that agents may call. */
export interface Services {
  clock: Clock;
  store: AgentStore;
  files: RunFiles;
  engines: Engines;
  workspaces: Workspaces;
  workTree: FolderChanges;
  worktrees: Worktrees;
  branches: Branches;
  integration: Pick<Integration, 'touched' | 'tips'>;
  integrator: Pick<Integrator, 'plan' | 'carryOut'>;
  sessions: Sessions;
  terminals: Terminals;
  activity: Pick<LastActivity, 'of'>;
  traces: Pick<Traces, 'on' | 'savedOf'>;
  conversations: Pick<MessageStore, 'messages' | 'message' | 'countMessages' | 'conversations' | 'talkers'>;
  /** Lists of runs that somebody is leafing through. */
  boards: BoardPages;
  search: TextSearch;
  runner: Pick<
    Runner,
    | 'submit'
    | 'admit'
    | 'current'
    | 'usageOf'
    | 'moneyLeft'
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
  /** Questions of agents. */
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
    | 'find'
    | 'owned'
    | 'list'
    | 'askedBy'
    | 'onAsked'
  >;
  /** What agents put on GitHub. */
  proposals: Pick<Proposals, 'open' | 'createIssues'>;
  /** The other MCP servers of workspaces, as configured. */
  mcpConfigs: Pick<McpConfigs, 'of'>;
  gateway: GatewayAdmin;
  /** What agents asked of them, and got. */
  audit: AuditTrail;
  settings: Settings;
  hub: HubControl;
}

/** Services of an operation that only the user may call. Put together once, in `src/app.ts`. */
export interface UserServices extends Services {
  store: Store;
}

export interface Settings {
  all(): HubSettings;
  /** False: its default is in force. */
  isSet(key: string): boolean;
  /** Null puts the default back. */
  set(key: HubSettingKey, value: string | null): Promise<void>;
}

export interface HubControl {
  status(): HubStatus;
  /** What the page starts has this environment from now on. */
  lendEnvironment(env: Record<string, string>): void;
  /** The origin of the page and a key for it; `ip`: at 127.0.0.1. Null: the hub has no port. */
  openPage(ip: boolean): Promise<{ origin: string; key: string } | null>;
  /** A wait for a person, which holds up neither a stop nor a newer hub: the signal says that it has to be answered now. */
  whileAsking<T>(wait: (stopping: AbortSignal) => Promise<T>): Promise<T>;
  /** Ends the hub once the reply is out; agents at work go on. */
  stop(reason: string): void;
  /** Into the hub's log, whole: the caller is shown the message only. */
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
    .describe('Origin of the web UI: another at each start. Null until the port is bound'),
  tokenFile: z.string(),
  warnings: z.array(z.string()).describe('Environment variables that the hub could not use'),
  restored: z
    .string()
    .nullable()
    .describe('What was wrong with the database when this hub started, and what was restored; null: nothing'),
  successor: z
    .string()
    .nullable()
    .describe('The newer version this hub hands over to as soon as no call is in flight'),
});
export type HubStatus = z.infer<typeof HubStatus>;

/** One call, as any face makes it. */
export interface Call<S extends Services = Services> {
  services: S;
  caller: Caller;
  /** The tool that was called; absent: the operation is none. */
  tool?: string;
  signal: AbortSignal;
  /** How long a waiting operation may take before it must answer with what there is; null is no ceiling, 0 is at once. */
  waitMs: number | null;
  /** How long the client lets any one call take; null or absent: no limit. */
  ceilingMs?: number | null;
  /** A sign of life to whoever waits. */
  progress(message: string): Promise<void>;
  /** Runs were started for this call, with what is to be said about that. */
  onStarted?(runs: Run[], warnings: readonly string[]): void;
  /** Puts an open question to whoever sits at the client, while the call waits. */
  askPerson?(item: InboxItem, signal: AbortSignal): Promise<FormReply>;
  /** The call waits no longer, because of these. */
  onAsked?(items: readonly InboxItem[]): void;
  /** Every run that the result is about has failed, so the call counts as failed too. */
  onFailed?(): void;
  /** A model's client makes it, which has no more of a question than results have room for. */
  isByModel?: true;
  /** For operations that stream: one more item. */
  emit(item: unknown): void;
}

/** Place in the REST API, below `/api`. A field of the input stands in braces; the others are the query or the JSON body. */
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
  /** Requirement for an agent to call it; null: only the user may. */
  agents: A;
  /** The MCP tool this is, if it is one: its name and what the model reads. */
  tool: Tool | null;
  input: I;
  output: O;
  run(call: Call<A extends null ? UserServices : Services>, input: z.output<I>): Promise<z.input<O>>;
}

export interface Tool {
  title: string;
  description: string;
  readOnly: boolean;
  /** Agents alone have it, by the type of their role; its errors are flat. */
  forAgents?: true;
  /** Its caller is a program that takes the result as one text and stumbles over anything beside it. */
  textOnly?: true;
  /** `core` unless it says so. */
  toolset?: Toolset;
  /** Also among the default tools of a client whose workspace has team files. */
  isDefaultWithTeam?: true;
  /** Listed only where this agent CLI is. */
  needs?: CliId;
  /** Schemas shown to callers in stateless mode, where they differ. */
  stateless?: { input?: z.ZodType; output?: z.ZodType };
  /** What clients are shown of a schema that says more than they need to pay for. */
  listed?: { input?: z.ZodType; output?: z.ZodType };
  /** For tools that wait: the task a client with tasks gets instead. `isOpen`: there is something to wait for. */
  task?(result: unknown, input: unknown): { id: string; isOpen: boolean };
}

export const operation = <
  const N extends string,
  I extends z.ZodType,
  O extends z.ZodType,
  const R extends Route | null,
  const A extends AgentAccess | null,
>(
  definition: Operation<N, I, O, R, A>,
) => definition;
