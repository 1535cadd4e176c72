import { z } from 'zod';
import type { AuditRecord, AuditVerdict } from '../../schema/audit.ts';
import type { RunId } from '../../schema/ids.ts';
import type { McpConfig, OwnServers } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';

/**
 * `none`: there is no file. `trusted`: the file is in effect. `untrusted`: the file is valid, but the user has not
 * trusted this content, so it has no effect. `invalid`: the file cannot be read; the last valid configuration stays in
 * effect.
 */
export const ConfigState = z.enum(['none', 'trusted', 'untrusted', 'invalid']);

/** A workspace's `.squad/mcp-config.json`, and the part of it that is in effect. */
export interface ConfigInForce {
  file: string;
  state: z.infer<typeof ConfigState>;
  config: McpConfig | null;
  /**
   * Warnings for the user: why the file has no effect, what is wrong and where, and references to things that do not
   * exist.
   */
  warnings: string[];
}

export interface McpConfigs {
  /** Reads the file on the first call and watches it from then on. Never throws: errors are part of the result. */
  of(workspace: string): Promise<ConfigInForce>;
  /** The last result of `of`. Returns at once. Null before the first call of `of`. */
  known(workspace: string): ConfigInForce | null;
  /** Watches the file for a run, even if nobody calls `of`. Returns a function that stops this. */
  keep(workspace: string): () => void;
  /** Calls the listener after the configuration in effect has changed. Returns a function that unsubscribes. */
  onChange(listener: (workspace: string) => void): () => void;
  close(): void;
}

/** The definition of a tool, prompt or resource as its server lists it, without hidden characters. */
export type Definition = Readonly<Record<string, unknown>> & { readonly name: string };

export type PinState =
  /**
   * The tool was on the server's first list, or was approved later. Agents may use it while its definition stays the
   * same.
   */
  | 'approved'
  /** The tool was added or changed after the first list: it is hidden until approved. */
  | 'pending'
  /** An entry of a tool list that matches no tool and that the user has confirmed. Its definition is only its name. */
  | 'confirmed';

/** A known definition. One name can have an approved definition and a pending one. */
export interface Pin {
  name: string;
  hash: string;
  definition: Definition;
  state: PinState;
  seenAt: number;
}

/** Identity of a server whose tools are pinned: workspace, server id, and a hash of how it is started or reached. */
export interface PinKey {
  workspace: string;
  server: string;
  source: string;
}

export interface PinStore {
  /** Pins of a server. Null if the server was never listed. */
  pins(key: PinKey): Promise<Pin[] | null>;
  /** Replaces the pins of the server in one step: if that fails, the old pins stay. */
  savePins(key: PinKey, pins: Pin[]): Promise<void>;
}

/** One line of the audit log, before it is numbered and chained. */
export type AuditEntry = Omit<AuditRecord, 'seq' | 'at' | 'prev' | 'hash'>;

export interface Audit {
  /**
   * Queues the entry and returns; it is written soon. Throws AUDIT_UNAVAILABLE when earlier entries could not be
   * written.
   */
  append(entry: AuditEntry): void;
  /** Throws the error that `append` would throw. Called before an action that has to be logged. */
  check(): void;
  flush(): Promise<void>;
}

const UpstreamHealth = z.enum([
  /** Not connected, because no run needs the server now. */
  'idle',
  'starting',
  'up',
  /** A call timed out: the server gets no new calls until it has answered a probe. */
  'checking',
  /** The server failed while no call was waiting: it is started again after a short delay. */
  'retrying',
  /** A call failed, or the server kept failing: it is tried once after the cool-down. */
  'cooling',
  /**
   * The server cannot be used as configured: a variable is not set, the program is missing, the address is refused, or
   * the login failed.
   */
  'unusable',
]);
export type UpstreamHealth = z.infer<typeof UpstreamHealth>;

/** State of one connection, for people. */
export const UpstreamStatus = z.object({
  workspace: z.string(),
  server: z.string(),
  type: z.enum(['stdio', 'http', 'sse']),
  instance: z.enum(['shared', 'per-agent']),
  health: UpstreamHealth,
  /** Start of the current health state. */
  since: z.number(),
  /** Start of the current uninterrupted connection. Null if there is none. */
  upSince: z.number().nullable(),
  retryAt: z.number().nullable(),
  /** The current error, without secrets. */
  fault: z.string().nullable(),
  /** The last error since the server was first needed, even if it is over. */
  lastFault: z.object({ message: z.string(), at: z.number() }).nullable(),
  pid: z.number().nullable(),
  era: z.enum(['legacy', 'modern']).nullable(),
  serverName: z.string().nullable(),
  tools: z.number().nullable(),
  /** Number of definitions that wait for approval. */
  pending: z.number(),
  runs: z.number(),
  callsInFlight: z.number(),
  calls: z.number(),
  failures: z.number(),
  /** Number of dropped messages that answered no request. */
  stray: z.number(),
  restarts: z.number(),
  /** Definitions that are listed but hidden from all runs, with the reason. Only the first few. */
  refused: z.array(z.object({ name: z.string(), reason: z.string() })),
});
export type UpstreamStatus = z.infer<typeof UpstreamStatus>;

/** A tool of another server, and whether a run can see it. */
export const SeenTool = z.object({
  server: z.string(),
  tool: z.string(),
  /** Name by which agents call the tool. */
  name: z.string(),
  description: z.string(),
  isVisible: z.boolean(),
  /** Why the tool is hidden: `not in the server's tools`, `excluded`, `pending approval`… */
  reason: z.string().nullable(),
});
export type SeenTool = z.infer<typeof SeenTool>;

/** A server whose tools could not be listed. */
export const ServerFault = z.object({
  server: z.string(),
  fault: z.string(),
  /** True if the server is still starting, which is no error. */
  isStarting: z.boolean(),
});
export type ServerFault = z.infer<typeof ServerFault>;

export const PendingChange = z.object({
  server: z.string(),
  /**
   * Name of the tool. For `unmatched` the entry of the list, for `dangling` its path in the file, such as
   * `toolRestrictions.tester`.
   */
  tool: z.string(),
  /**
   * `unmatched`: an entry that excludes tools and matches none, so all tools of the server are hidden. `dangling`: a
   * restriction or rule for a server or role that does not exist.
   */
  kind: z.enum(['new', 'changed', 'unmatched', 'dangling']),
  hash: z.string(),
  seenAt: z.number(),
  /** Lines of the diff, which begin with `+`, `-` or a space. */
  diff: z.array(z.string()),
});
export type PendingChange = z.infer<typeof PendingChange>;

/** The gateway for the user: status, inspection and approval. */
export interface GatewayAdmin {
  status(workspace: string | null): Promise<UpstreamStatus[]>;
  /**
   * All tools of the servers of this role, and whether the role may use each. Starts servers that are not connected,
   * within limits.
   */
  toolsOf(
    workspace: string,
    roleId: string | null,
    /** The `mcp` entries of the role's file. */
    roleMcp: readonly string[],
    env: Record<string, string>,
    roles?: readonly string[],
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }>;
  /** Like `toolsOf`, for the servers of a subagent's file. They are started for this call and stopped after it. */
  toolsOfSubagent(
    /** Working directory of the servers. */
    directory: string,
    servers: OwnServers,
    env: Record<string, string>,
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }>;
  /** Tool names by server, including pending and confirmed ones. Servers that were never listed are absent. */
  knownTools(workspace: string): Promise<Record<string, string[]>>;
  /** Pending changes. `roles` are the ids of all roles of the workspace. If absent, roles are not checked. */
  pending(workspace: string, roles?: readonly string[]): Promise<PendingChange[]>;
  /**
   * Approves pending changes of one server, of one tool, or all; with hashes, only those definitions. Returns the
   * approved changes.
   */
  approve(
    workspace: string,
    what: { server?: string; tool?: string; hashes?: readonly string[] },
    roles?: readonly string[],
  ): Promise<PendingChange[]>;
}

/** A request of an agent that is passed on to a server. */
export interface ForwardedRequest {
  signal: AbortSignal;
  /** Reports progress to the agent. Null if the agent did not ask for it. */
  progress: ((update: { progress: number; total?: number; message?: string }) => void) | null;
  /** The client that made this request, for servers that only this run uses. Null if no client can be asked. */
  client: ForwardedClient | null;
  /** Capabilities that a modern client declared; passed to servers that only this run uses. */
  capabilities?: Readonly<Record<string, unknown>>;
}

export interface ForwardedClient {
  capabilities: Readonly<Record<string, unknown>>;
  /** Forwards a request of the server to the client: sampling, elicitation, roots. */
  ask(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** Forwards a log message of the server. */
  tell(method: string, params: Record<string, unknown>): void;
}

/**
 * The tools, resources and prompts of other servers that one run may use. Results have the format of the protocol; an
 * error of the server is thrown unchanged.
 */
export interface GatewayView {
  /**
   * Tools in a stable order. Waits briefly for servers that were never listed; servers that are ready later cause a
   * change notification.
   */
  tools(): Promise<Definition[]>;
  /**
   * Whether the name can only belong to a tool of another server. The run may still not be allowed to use that tool.
   */
  takes(name: string): boolean;
  /**
   * Whether the call needs no client that answers questions of the server. False for servers that only this run uses.
   */
  isPlain(name: string): boolean;
  /** Calls a tool. Null if the run has no such tool. The attempt is in the audit log. */
  call(
    name: string,
    params: Record<string, unknown>,
    request: ForwardedRequest,
  ): Promise<Record<string, unknown> | null>;
  resources(): Promise<Definition[]>;
  resourceTemplates(): Promise<Definition[]>;
  /** Reads a resource. Null if the run has no such resource. */
  readResource(
    uri: string,
    params: Record<string, unknown>,
    request: ForwardedRequest,
  ): Promise<Record<string, unknown> | null>;
  prompts(): Promise<Definition[]>;
  getPrompt(
    name: string,
    params: Record<string, unknown>,
    request: ForwardedRequest,
  ): Promise<Record<string, unknown> | null>;
  /** Completes an argument of a prompt or resource template. Null if the reference belongs to no server of this run. */
  complete(
    params: Record<string, unknown>,
    request: ForwardedRequest,
  ): Promise<Record<string, unknown> | null>;
  /**
   * Notice for the agent before it begins: unavailable servers, and the alternatives of its role. Null if all servers
   * are available.
   */
  notice(): string | null;
}

export interface Gateway extends GatewayAdmin {
  /** Starts connecting the servers of a run before its agent starts, without waiting. Servers that only this run uses start when the agent first asks for them. */
  prepare(run: Run): void;
  /** The view of a run, the same object as long as the run lives. Null if the workspace has no servers for it. */
  viewOf(run: Run): GatewayView | null;
  /** Calls the listener when lists of a run may have changed. */
  onChange(listener: (runId: RunId, what: 'tools' | 'resources' | 'prompts') => void): () => void;
  /** Reads the pins of all servers again, because another hub may have changed them. */
  reloadPins(): Promise<void>;
  /** Called after the end of a run: stops the servers that only this run used, and waits until they are gone. */
  release(runId: RunId): Promise<void>;
  /** Stops every server, and waits until they are gone. */
  close(): Promise<void>;
}

export interface AuditFilter {
  runId?: RunId;
  deniedOnly?: boolean;
  limit: number;
}

export interface AuditPage {
  /** The newest matching entries, oldest first. */
  entries: AuditRecord[];
  /** Number of lines that could not be parsed. */
  unreadable: number;
}

export interface AuditTrail {
  /** Checks every line of every file against the line before it. */
  verify(): Promise<AuditVerdict>;
  entries(filter: AuditFilter): Promise<AuditPage>;
}
