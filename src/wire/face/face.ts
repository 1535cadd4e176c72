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

/** `legacy` opens with `initialize` (2024-11-05 to 2025-11-25); `modern` carries its identity in every request (2026-07-28). */
export type Era = 'legacy' | 'modern';

/** Name that the client gives itself: good for choosing a wait, never for permissions. */
export interface Peer {
  era: Era;
  client: { name: string; version: string } | null;
  capabilities: ClientCapabilities;
  /** Asks the client for its roots, as URIs; absent where it cannot be asked while it waits. Rejects when it does not answer. */
  roots?(): Promise<string[]>;
}

export interface Call extends Peer {
  /** Aborts when the client cancels, goes away or ends its input. */
  signal: AbortSignal;
  /** Whether the client asked for progress; without it `progress` says nothing. */
  wantsProgress: boolean;
  /** Whether this very request may be answered with a task: clients say so anew in every request. */
  acceptsTasks: boolean;
  /** A client of 2025-11-25 asked for a task, so the answer has to be one, or a protocol error. */
  asTask: boolean;
  /** Settles when the notice is on its way. Values are made strictly increasing; nothing is sent after the result. */
  progress(message: string | undefined, value?: number, total?: number): Promise<void>;
  /**
   * Within this request, from the level on that its client asked for; a legacy client that asked for none hears `info` and
   * above. Never waited for, and lost on a client that does not read.
   */
  log(message: LogMessage): void;
  /** Whoever asks this: the connection, or the session of a legacy client. It may be gone when a notification is sent to it. */
  audience: Audience;
  /** The SDK's own context, for what this interface does not cover. */
  raw: ServerContext;
}

export interface ToolDef {
  name: string;
  title?: string;
  description: string;
  inputSchema: JsonObjectSchema;
  outputSchema?: JsonObjectSchema;
  annotations?: ToolAnnotations;
  /** Said to clients of 2025-11-25 only. */
  execution?: { taskSupport: 'optional' };
}

export interface JsonObjectSchema {
  type: 'object';
  [keyword: string]: unknown;
}

/** `structured` is shown twice, as structured content and as one text block that is its exact JSON. */
export type FinalToolResult =
  | { structured: Record<string, unknown>; isError?: boolean }
  | { raw: CallToolResult };

/** A task only where `acceptsTasks` says so, and only once `tasks.get` would find it: the client asks at once. */
export type ToolResult = FinalToolResult | { raw: InputRequiredResult } | { task: TaskState };

/**
 * Tools, resources and prompts of one connection (over HTTP in the modern era: of one request). Cheap to build, no side effects:
 * it may be built once more only to answer a probe. Null from `call`, `read` or `get` means there is no such thing.
 */
export interface Face {
  info: { name: string; title?: string; version: string };
  instructions?: string;
  tools: {
    /** A list that was given out is never changed; giving out the same one again saves writing it anew. */
    list(peer: Peer): Promise<ToolDef[]>;
    call(name: string, args: Record<string, unknown>, call: Call): Promise<ToolResult | null>;
    mayChange?: boolean;
  };
  resources?: {
    list(peer: Peer): Promise<Resource[]>;
    templates?(peer: Peer): Promise<ResourceTemplateType[]>;
    read(uri: string, call: Call): Promise<ReadResourceResult | InputRequiredResult | null>;
    mayChange?: boolean;
    /** Clients may ask to hear of updates to one resource. */
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
   * Tools of other servers, whose calls are handed on as they came, past the SDK, wherever the client's request is a plain
   * one. `tools.call` knows the same tools, for every other request: both must give the same answer.
   */
  forwarded?: Forwarded;
  /** Nothing about a task is kept here: any later connection may ask, by an id the face gave out. */
  tasks?: {
    get(taskId: string, call: Call): Promise<TaskState | null>;
    /** As it is once it is over, however long that takes. */
    wait(taskId: string, call: Call): Promise<TaskState | null>;
    /** Settles when the request is accepted, which may be before the work stops; fine for a task that is over. False: no such task. */
    cancel(taskId: string, call: Call): Promise<boolean>;
    /** Answers to what `input_required` asked, as they came; keys nobody asked for are ignored. False: no such task. */
    answer?(taskId: string, responses: Record<string, unknown>, call: Call): Promise<boolean>;
  };
  complete?(params: CompleteRequestParams, peer: Peer): Promise<{ values: string[]; total?: number }>;
  /** The client says that its roots are others now. */
  rootsChanged?(): void;
  /** Log messages may be sent; see `Audience.log`. */
  logging?: boolean;
  /** Checks state that travelled through the client between two rounds of one call. */
  requestState?: ServerOptions['requestState'];
}

export interface Forwarded {
  /** Asked before anything else is done with a call, so it must be quick. */
  takes(name: string): boolean;
  /** The result as it goes on the wire; null: there is no such tool. What is thrown leaves as an error of the protocol. */
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

/** Tells clients that asked to know; nobody else hears of it. */
export interface ChangeNotices {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
}

export interface LogMessage {
  level: LoggingLevel;
  /** Which part of us speaks. */
  logger?: string;
  data: unknown;
}

/** Clients at the other end of one connection, or of several. */
export interface Audience {
  notices: ChangeNotices;
  /**
   * At any time, to legacy clients, from the level they chose upwards. Modern clients never hear it: for them there are
   * log messages only within a request that asked for them.
   */
  log(message: LogMessage): void;
}
