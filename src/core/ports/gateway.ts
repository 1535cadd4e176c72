import type { AuditRecord, AuditVerdict } from '../../schema/audit.ts';
import type { RunId } from '../../schema/ids.ts';
import type { McpConfig, OwnServers } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';

/** A workspace's `.squad/mcp-config.json` as it counts now. */
export interface ConfigInForce {
  file: string;
  /**
   * `none`: there is no file. `trusted`: it is in force. `untrusted`: it is well-formed and nobody has trusted this content,
   * so nothing of it counts. `invalid`: it cannot be read; what was in force before still is.
   */
  state: 'none' | 'trusted' | 'untrusted' | 'invalid';
  /** Null when nothing is in force. */
  config: McpConfig | null;
  /** What the user should know: why nothing counts, what is wrong and where, what refers to something that is not there. */
  warnings: string[];
}

export interface McpConfigs {
  /** Read on the first question, kept up to date from then on. Never throws: what is wrong is in the answer. */
  of(workspace: string): Promise<ConfigInForce>;
  /** What `of` last said, without waiting; null before the first. */
  known(workspace: string): ConfigInForce | null;
  /** Kept up to date, asked about or not, until what it returns is called: for a run that is at work. */
  keep(workspace: string): () => void;
  /** Called after what is in force has changed. Returns how to stop. */
  onChange(listener: (workspace: string) => void): () => void;
  close(): void;
}

/** The definition of a tool, prompt or resource as its server lists it, cleaned of what no reader should see. */
export type Definition = Readonly<Record<string, unknown>> & { readonly name: string };

export type PinState =
  /** Seen first, or approved since: may be used, if this is still its definition. */
  | 'approved'
  /** Came or changed after the first look: kept from everybody until approved. */
  | 'pending'
  /** No tool: an entry of a list that means none, and that the user has confirmed all the same. Its definition is only its name. */
  | 'confirmed';

/** A definition that was seen. Of one name there may be an approved one and one that waits. */
export interface Pin {
  name: string;
  hash: string;
  definition: Definition;
  state: PinState;
  seenAt: number;
}

/** Which server it is whose tools are pinned: a workspace, its id there, and a hash of how it is started or reached. */
export interface PinKey {
  workspace: string;
  server: string;
  source: string;
}

export interface PinStore {
  /** Null: this server was never listed. */
  pins(key: PinKey): Promise<Pin[] | null>;
  /** Replaces what is kept for the server, all of it or nothing. */
  savePins(key: PinKey, pins: Pin[]): Promise<void>;
}

type AuditDecision = 'allowed' | 'denied';

/** What is written down about one question or call. Never a value of an argument or a result: shapes, sizes, hashes. */
export interface AuditEntry {
  runId: RunId | null;
  roleId: string | null;
  /** Whose call the run is, if it is a subagent's. */
  subagent?: string;
  workspace: string;
  server: string | null;
  /** `tool`, `resource`, `prompt`, `completion`, `approval`… */
  kind: string;
  /** In the server's own words where it is known, else as asked for. */
  name: string;
  decision: AuditDecision;
  /** Why not, or how it ended: `asked` (it has not yet), `ok`, `tool_error`, `unavailable`, `timeout`, `cancelled`, `unknown`, `argument_rule`… */
  outcome: string;
  /** Types by name: `{"path":"string","lines":"number"}`. */
  argumentShape?: string;
  argumentHash?: string;
  resultBytes?: number;
  resultHash?: string;
  durationMs?: number;
  /** Of denials alike that are one line; one if it is not said. */
  count?: number;
}

export interface Audit {
  /** Taken at once, on disk within a moment. Throws AUDIT_UNAVAILABLE when what was taken before could not be written. */
  append(entry: AuditEntry): void;
  /** Throws what `append` would: for asking before something is done that has to be written down. */
  check(): void;
  flush(): Promise<void>;
}

export type UpstreamHealth =
  /** Nobody has needed it yet, or not for a while. */
  | 'idle'
  | 'starting'
  | 'up'
  /** A call ran out of time: it is asked nothing new until it has answered a probe. */
  | 'checking'
  /** It failed, but never a call: it is started again after a short delay. */
  | 'retrying'
  /** It has failed a call, or kept failing: one try after the cool-down. */
  | 'cooling'
  /** It cannot be used as configured: a variable is not set, a program is not there, an address is refused, it lets nobody in. */
  | 'unusable';

/** One connection, or what should be one, as people see it. */
export interface UpstreamStatus {
  workspace: string;
  server: string;
  type: 'stdio' | 'http' | 'sse';
  instance: 'shared' | 'per-agent';
  health: UpstreamHealth;
  /** Since when it is what it is now. */
  since: number;
  /** For how long it has been up without a break; null when it is not. */
  upSince: number | null;
  retryAt: number | null;
  /** What stands against it now, in words, secrets left out. */
  fault: string | null;
  /** The last fault since it was first needed, also when it is over. */
  lastFault: { message: string; at: number } | null;
  pid: number | null;
  era: 'legacy' | 'modern' | null;
  serverName: string | null;
  tools: number | null;
  /** Definitions that wait for approval. */
  pending: number;
  runs: number;
  callsInFlight: number;
  calls: number;
  failures: number;
  /** Messages nobody had asked for, thrown away. */
  stray: number;
  restarts: number;
  /** What it lists and nobody is shown, with why; not more than a few of many. */
  refused: { name: string; reason: string }[];
}

/** A tool of another server as a run would see it, or why it would not. */
export interface SeenTool {
  server: string;
  /** The server's own name for it. */
  tool: string;
  /** The name agents call it by. */
  name: string;
  description: string;
  isVisible: boolean;
  /** Why not: `not in the server's tools`, `excluded`, `pending approval`… */
  reason: string | null;
}

/** A server that could not be looked at. */
export interface ServerFault {
  server: string;
  fault: string;
  /** Nothing is wrong yet: it needs more time. */
  isStarting: boolean;
}

/** Something that waits for approval. */
export interface PendingChange {
  server: string;
  /** Of `unmatched`: the entry of a list. Of `dangling`: its place in the file, as `toolRestrictions.tester`. */
  tool: string;
  /**
   * `unmatched`: an entry that takes tools away and means none, because of which the server's tools are hidden. `dangling`: a
   * restriction or rule for a server or role that does not exist.
   */
  kind: 'new' | 'changed' | 'unmatched' | 'dangling';
  hash: string;
  seenAt: number;
  /** Lines that begin with `+`, `-` or a space. */
  diff: string[];
}

/** What people ask of the gateway. */
export interface GatewayAdmin {
  status(workspace: string | null): Promise<UpstreamStatus[]>;
  /** Everything the servers of this role have, each with whether the role has it. Starts what is not up, within bounds. */
  toolsOf(
    workspace: string,
    roleId: string | null,
    /** What the role's own file gives it. */
    roleMcp: readonly string[],
    env: Record<string, string>,
    roles?: readonly string[],
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }>;
  /** The same for servers that a subagent's file names. They are started for this alone, and ended. */
  toolsOfSubagent(
    /** Where a run of it would work. */
    directory: string,
    servers: OwnServers,
    env: Record<string, string>,
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }>;
  /** By server, in its own names, also what is pending or confirmed. A server that was never seen is not in it. */
  knownTools(workspace: string): Promise<Record<string, string[]>>;
  /** `roles`: ids of all roles of the workspace; absent: no role counts as missing. */
  pending(workspace: string, roles?: readonly string[]): Promise<PendingChange[]>;
  /**
   * Approves what waits: of one server, of one tool, or all; with hashes, only what still is one of those definitions. Returns
   * what was approved.
   */
  approve(
    workspace: string,
    what: { server?: string; tool?: string; hashes?: readonly string[] },
    roles?: readonly string[],
  ): Promise<PendingChange[]>;
}

/** A request to another server, as it came from an agent. */
export interface ForwardedRequest {
  signal: AbortSignal;
  /** Null when the agent did not ask for progress. */
  progress: ((update: { progress: number; total?: number; message?: string }) => void) | null;
  /** The one client behind this request, for servers that have it to themselves; null where nobody can be asked. */
  client: ForwardedClient | null;
  /** What a modern client said it can be asked for; told to servers that the run has to itself. */
  capabilities?: Readonly<Record<string, unknown>>;
}

export interface ForwardedClient {
  capabilities: Readonly<Record<string, unknown>>;
  /** A question of the server to the client: sampling, elicitation, roots. */
  ask(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** A log message of the server. */
  tell(method: string, params: Record<string, unknown>): void;
}

/** What one run has of other servers. Answers are as they go on the wire; an error of the server is thrown as it came. */
export interface GatewayView {
  /** In the same order every time. Waits a moment for servers that were never seen; what is not there by then comes with a change notice. */
  tools(): Promise<Definition[]>;
  /** Whether a name can only be one of another server's tools. Does not say that the run may use it. */
  takes(name: string): boolean;
  /** Whether the call can be handed on without a client to ask: false for servers the run has to itself. */
  isPlain(name: string): boolean;
  /** Null: there is no such tool for this run, and the attempt was written down. */
  call(
    name: string,
    params: Record<string, unknown>,
    request: ForwardedRequest,
  ): Promise<Record<string, unknown> | null>;
  resources(): Promise<Definition[]>;
  resourceTemplates(): Promise<Definition[]>;
  /** Null: no such resource for this run. */
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
  /** Null: what it refers to is not another server's, or not this run's. */
  complete(
    params: Record<string, unknown>,
    request: ForwardedRequest,
  ): Promise<Record<string, unknown> | null>;
  /** What the agent should be told before it begins: what is out of order, and what its role has instead. Null: all is well. */
  notice(): string | null;
}

export interface Gateway extends GatewayAdmin {
  /** Before the agent starts: gets its servers going, unless they are its own: those wait until it asks for them. Settles at once. */
  prepare(run: Run): void;
  /** The same object for as long as the run lives; null when its workspace has no servers for it. */
  viewOf(run: Run): GatewayView | null;
  /** Called when the lists of this run may have changed. */
  onChange(listener: (runId: RunId, what: 'tools' | 'resources' | 'prompts') => void): () => void;
  /** The run has ended: what it had to itself ends too. Settles when that is gone. */
  release(runId: RunId): Promise<void>;
  /** Ends every server it started; settles when they are gone. */
  close(): Promise<void>;
}

export interface AuditFilter {
  runId?: RunId;
  deniedOnly?: boolean;
  limit: number;
}

export interface AuditPage {
  /** The newest that match, oldest first. */
  entries: AuditRecord[];
  /** Lines met on the way that are none of ours. */
  unreadable: number;
}

/** The audit log as people read it. */
export interface AuditTrail {
  /** Every line of every file, against the one before. */
  verify(): Promise<AuditVerdict>;
  entries(filter: AuditFilter): Promise<AuditPage>;
}
