import type {
  CallToolResult,
  ClientCapabilities,
  CompleteRequestParams,
  GetPromptResult,
  InputRequiredResult,
  LoggingLevel,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  ServerContext,
  ServerOptions,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import type { TaskState } from './face-tasks.ts';

/**
 * Protocol eras: `legacy` clients open with `initialize` (2024-11-05 to 2025-11-25); `modern` clients send their
 * identity with every request (2026-07-28).
 */
export type Era = 'legacy' | 'modern';

/** The client at the other end, as it describes itself. Use its name to choose timeouts, never for permissions. */
export interface Peer {
  era: Era;
  client: { name: string; version: string } | null;
  capabilities: ClientCapabilities;
  /**
   * Asks the client for its roots, as URIs. Absent if the client cannot be asked during a call. Rejects if the client
   * gives no answer.
   */
  roots?(): Promise<string[]>;
}

export interface Call extends Peer {
  /** Aborts when the client cancels, disconnects or closes its input. */
  signal: AbortSignal;
  /** Whether the client asked for progress. Otherwise `progress` sends nothing. */
  wantsProgress: boolean;
  /** Whether this request may be answered with an MCP task. Clients declare that in each request. */
  acceptsTasks: boolean;
  /** A client of 2025-11-25 asked for an MCP task, so the answer must be a task or a protocol error. */
  asTask: boolean;
  /**
   * Sends progress; resolves when it was sent. Values are made strictly increasing. Nothing is sent after the result.
   */
  progress(message: string | undefined, value?: number, total?: number): Promise<void>;
  /**
   * Sends a log message within this request, at or above the level that the client set (default for legacy clients:
   * `info`). Does not wait. The message is dropped if the client does not read.
   */
  log(message: LogMessage): void;
  /** The connection or legacy session that sent this call. It may have ended when a notification is sent to it. */
  audience: Audience;
  /** The SDK's own context, for anything that this interface does not cover. */
  raw: ServerContext;
}

export interface ToolDef {
  name: string;
  title?: string;
  description: string;
  inputSchema: JsonObjectSchema;
  outputSchema?: JsonObjectSchema;
  annotations?: ToolAnnotations;
  /** Support for MCP tasks. Only clients of revision 2025-11-25 get this field. */
  execution?: { taskSupport: 'optional' };
}

export interface JsonObjectSchema {
  type: 'object';
  [keyword: string]: unknown;
}

/** `structured` is sent twice: as structured content, and as a text block with the same JSON. */
export type FinalToolResult =
  | { structured: Record<string, unknown>; isError?: boolean }
  | { raw: CallToolResult };

/**
 * Result of a tool call. A task is allowed only if `acceptsTasks` is true, and only when `tasks.get` finds it,
 * because the client asks at once.
 */
export type ToolResult = FinalToolResult | { raw: InputRequiredResult } | { task: TaskState };

/**
 * The tools, resources and prompts of one connection (or, over HTTP in the modern era, of one request). A face must be
 * cheap to build and free of side effects, because one may be built just to answer a probe. `call`, `read` and `get`
 * return null for an unknown name.
 */
export interface Face {
  info: { name: string; title?: string; version: string };
  instructions?: string;
  tools: {
    /** Callers must not change the returned list. Returning the same list object again saves serializing it. */
    list(peer: Peer): Promise<ToolDef[]>;
    call(name: string, args: Record<string, unknown>, call: Call): Promise<ToolResult | null>;
    mayChange?: boolean;
  };
  resources?: {
    list(peer: Peer): Promise<Resource[]>;
    templates?(peer: Peer): Promise<ResourceTemplateType[]>;
    read(uri: string, call: Call): Promise<ReadResourceResult | InputRequiredResult | null>;
    mayChange?: boolean;
    /** True if clients may subscribe to updates of one resource. */
    watchable?: boolean;
  };
  prompts?: {
    list(peer: Peer): Promise<Prompt[]>;
    get(
      name: string,
      args: Record<string, string>,
      call: Call,
    ): Promise<GetPromptResult | InputRequiredResult | null>;
    mayChange?: boolean;
  };
  /**
   * Tools of other servers. Plain requests for them are forwarded unchanged, without the SDK. `tools.call` serves the
   * same tools for all other requests, and both ways must give the same answer.
   */
  forwarded?: Forwarded;
  /** Tasks are stateless: any later connection may query a task by its id. */
  tasks?: {
    get(taskId: string, call: Call): Promise<TaskState | null>;
    /** Waits for the end of the task, without a time limit. */
    wait(taskId: string, call: Call): Promise<TaskState | null>;
    /**
     * Resolves when the cancel request is accepted, which may be before the work stops. An ended task is no error.
     * False if there is no such task.
     */
    cancel(taskId: string, call: Call): Promise<boolean>;
    /**
     * Answers to the questions of `input_required`, unchecked. Unknown keys are ignored. False if there is no such
     * task.
     */
    answer?(taskId: string, responses: Record<string, unknown>, call: Call): Promise<boolean>;
  };
  complete?(params: CompleteRequestParams, peer: Peer): Promise<{ values: string[]; total?: number }>;
  /** Called when the client's roots have changed. */
  rootsChanged?(): void;
  /** True if log messages may be sent, see `Audience.log`. */
  logging?: boolean;
  /** Validates the `requestState` that a client returns between two rounds of one call. */
  requestState?: ServerOptions['requestState'];
}

export interface Forwarded {
  /** Whether the tool belongs to another server. Called first for every tool call, so it must be fast. */
  takes(name: string): boolean;
  /** Returns the result to send. Null if there is no such tool. Anything thrown becomes a protocol error. */
  call(
    name: string,
    params: Record<string, unknown>,
    call: ForwardedCall,
  ): Promise<Record<string, unknown> | null>;
}

export interface ForwardedCall {
  signal: AbortSignal;
  /** Null when the client did not ask for progress. */
  progress: ((update: { progress: number; total?: number; message?: string }) => void) | null;
}

/** Notifies only clients that subscribed to this resource. */
export interface ChangeNotices {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
}

export interface LogMessage {
  level: LoggingLevel;
  /** Name of the component that logs. */
  logger?: string;
  data: unknown;
}

/** The clients of one connection, or of several. */
export interface Audience {
  notices: ChangeNotices;
  /**
   * Sends a log message to legacy clients at any time, at or above the level they set. Modern clients get log messages
   * only within a request that asked for them.
   */
  log(message: LogMessage): void;
}
