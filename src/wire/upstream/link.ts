import type { Era } from '../face/face.ts';

export type Json = Record<string, unknown>;

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

export interface LinkRequest {
  timeoutMs: number;
  signal?: AbortSignal;
  /** Asks for progress; each notice begins the timeout anew, up to half an hour in all. */
  onProgress?(update: Progress): void;
  /** Capabilities of the client behind this request that the server may use in its answer. Sent to modern servers only. */
  capabilities?: Json;
}

/** A connection to another MCP server that has said who it is. Ids and progress tokens are its own, never a caller's. */
export interface UpstreamLink {
  readonly era: Era;
  readonly server: { name: string; version: string };
  /** As the server declared them. */
  readonly capabilities: Json;
  /** The result as it came, unchecked but for being an object. Rejects with an UpstreamFault. */
  request(method: string, params: Json, options: LinkRequest): Promise<Json>;
  /** Requests not yet answered. */
  inFlight(): number;
  /** Settles, never rejects, when the connection is over, with why. */
  readonly closed: Promise<UpstreamFault>;
  close(): Promise<void>;
}

/** Notifications of the server. */
export interface LinkEvents {
  onNotification(method: string, params: Json): void;
  /** If it rejects or is absent, the server gets the error that there is no such method. */
  onRequest?(method: string, params: Json, signal: AbortSignal): Promise<Json>;
  /** An answer to nobody's question, a second answer, a late one: thrown away. */
  onStray(): void;
}

export type FaultKind =
  /** The connection broke, or what came over it was no protocol. */
  | 'transport'
  /** The server no longer knows our session. It answers, and gives out new ones. */
  | 'session'
  /** No answer in time. */
  | 'timeout'
  /** The process ended. */
  | 'exit'
  /** It cannot be started or reached at all. */
  | 'start'
  /** It wants to know who asks, and what it was shown is not enough: trying again is no use. */
  | 'unauthorized'
  /** The caller took the question back. */
  | 'cancelled'
  /** The server's own answer: an error of the protocol. It is well. */
  | 'answer';

/** Why a request to another server has no result. Only `transport`, `timeout`, `exit`, `start` and `unauthorized` speak against the server. */
export class UpstreamFault extends Error {
  readonly kind: FaultKind;
  /** For `answer`: as it came. */
  readonly error: { code: number; message: string; data?: unknown } | null;
  /** The server asked to be left alone for so long. */
  readonly retryAfterMs: number | null;

  constructor(
    kind: FaultKind,
    message: string,
    details: {
      error?: { code: number; message: string; data?: unknown };
      retryAfterMs?: number;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = 'UpstreamFault';
    this.kind = kind;
    this.error = details.error ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/** Sends messages to a server. Answers and errors are reported to the multiplexer. */
export interface Channel {
  /** Never rejects. Where it is known, settles when the server has taken the message. */
  send(message: Json): void | Promise<void>;
  /** Nobody waits for this request any more: the server is notified in the way of the transport. */
  cancel(id: number, reason: string): void;
}

export const cancelNotice = (requestId: number, reason: string): Json => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId, reason },
});
