import { isObject } from '../../base/json.ts';
import type { Era } from '../face/face.ts';
import type { Multiplexer } from './multiplexer.ts';

export type Json = Record<string, unknown>;

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

export interface LinkRequest {
  timeoutMs: number;
  signal?: AbortSignal;
  /** Asks for progress. Each progress notification restarts the timeout, up to half an hour in total. */
  onProgress?(update: Progress): void;
  /** Capabilities of the client that made this request. They are sent only to modern servers. */
  capabilities?: Json;
}

/**
 * A connection to another MCP server after the handshake. Ids and progress tokens are chosen by the link, never by a
 * caller.
 */
export interface UpstreamLink {
  readonly era: Era;
  readonly server: { name: string; version: string };
  /** Capabilities that the server declared. */
  readonly capabilities: Json;
  /** Resolves with the result, an object, otherwise unchecked. Rejects with an UpstreamFault. */
  request(method: string, params: Json, options: LinkRequest): Promise<Json>;
  /** Number of unanswered requests. */
  inFlight(): number;
  /** Resolves with the reason when the connection ends. Never rejects. */
  readonly closed: Promise<UpstreamFault>;
  close(): Promise<void>;
}

/** Called for each notification from the server. */
export interface LinkEvents {
  onNotification(method: string, params: Json): void;
  /** Answers a request of the server. If it rejects or is absent, the server gets "method not found". */
  onRequest?(method: string, params: Json, signal: AbortSignal): Promise<Json>;
  /** Called when an unexpected, second or late answer was dropped. */
  onStray(): void;
}

export type FaultKind =
  /** The connection broke, or a message was invalid. */
  | 'transport'
  /** The server has ended our session. The server works and accepts a new session. */
  | 'session'
  /** The server did not answer in time. */
  | 'timeout'
  /** The process of the server ended. */
  | 'exit'
  /** The server cannot be started or reached. */
  | 'start'
  /** Credentials are missing or refused, so retrying does not help. */
  | 'unauthorized'
  /** The caller cancelled the request. */
  | 'cancelled'
  /** True if the server answered with a JSON-RPC error, so the server works. */
  | 'answer';

/** Why a request to another server has no result. Only `transport`, `timeout`, `exit`, `start` and `unauthorized` are faults of the server. */
export class UpstreamFault extends Error {
  readonly kind: FaultKind;
  /** The server's own error, unchanged, if `kind` is `answer`. Null otherwise. */
  readonly error: { code: number; message: string; data?: unknown } | null;
  /** Delay before a retry that the server asked for. */
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
  /**
   * Sends a message. Never rejects. Resolves when the server has received the message, where the transport can detect
   * that.
   */
  send(message: Json): void | Promise<void>;
  /** Cancels a request in the way that the transport prescribes. */
  cancel(id: number, reason: string): void;
}

export const cancelNotice = (requestId: number, reason: string): Json => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId, reason },
});

const META = 'io.modelcontextprotocol/';
export const VERSION_KEY = `${META}protocolVersion`;
const CLIENT_KEY = `${META}clientInfo`;
const CAPABILITIES_KEY = `${META}clientCapabilities`;
const SERVER_KEY = `${META}serverInfo`;

interface OwnMeta {
  /** Name and version of the client, sent with each modern request. */
  envelope: Json | null;
  /** Capabilities of the client that made this request. */
  capabilities: Json | undefined;
  progressToken: number | null;
}

/** Replaces the caller's `_meta` by Squad's own: progress token and envelope. */
export function withMeta(params: Json, { envelope, capabilities, progressToken }: OwnMeta): Json {
  if (envelope === null && progressToken === null) {
    if (params._meta === undefined) return params;
    const { _meta, ...rest } = params;
    return rest;
  }
  const meta: Json = { ...envelope };
  if (envelope !== null && capabilities !== undefined) meta[CAPABILITIES_KEY] = capabilities;
  if (progressToken !== null) meta.progressToken = progressToken;
  return { ...params, _meta: meta };
}

export interface LinkOptions {
  events: LinkEvents;
  clientInfo: { name: string; version: string };
  /**
   * Capabilities of the client behind this link. Default: everything that a legacy server can use if
   * `events.onRequest` is set, otherwise none.
   */
  capabilities?: Json;
  /** Timeout for the whole handshake. */
  startTimeoutMs: number;
  signal?: AbortSignal;
  /** Maximum size of one message in bytes. */
  maxFrameBytes?: number;
}

export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

export interface UpstreamHandshake {
  era: Era;
  protocolVersion: string;
  server: { name: string; version: string };
  capabilities: Json;
}

export const MODERN = '2026-07-28';
const NEWEST_LEGACY = '2025-11-25';

/** Sends `initialize` and its confirmation. Rejects with the server's error if the server does not know the method. */
export async function handshakeLegacy(mux: Multiplexer, options: LinkOptions): Promise<UpstreamHandshake> {
  mux.envelope = null;
  const { clientInfo, events, startTimeoutMs: timeoutMs, signal } = options;
  const capabilities =
    options.capabilities ?? (events.onRequest ? { sampling: {}, elicitation: {}, roots: {} } : {});
  const result = await mux.request(
    'initialize',
    { protocolVersion: NEWEST_LEGACY, capabilities, clientInfo },
    { timeoutMs, ...(signal && { signal }) },
  );
  const version = result.protocolVersion;
  if (typeof version !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(version) || version >= MODERN)
    throw new UpstreamFault(
      'start',
      `The server uses a protocol version that Squad does not know: ${version}.`,
    );
  await mux.notify('notifications/initialized');
  return {
    era: 'legacy',
    protocolVersion: version,
    server: identity(result.serverInfo),
    capabilities: isObject(result.capabilities) ? result.capabilities : {},
  };
}

/** Sends `server/discover`. After this handshake, every request names the client. */
export async function handshakeModern(mux: Multiplexer, options: LinkOptions): Promise<UpstreamHandshake> {
  const { clientInfo, startTimeoutMs: timeoutMs, signal } = options;
  mux.envelope = {
    [VERSION_KEY]: MODERN,
    [CLIENT_KEY]: clientInfo,
    // By default no capabilities are declared, because a modern server puts its questions into results, which go to
    // the caller.
    [CAPABILITIES_KEY]: options.capabilities ?? {},
  };
  const result = await mux.request('server/discover', {}, { timeoutMs, ...(signal && { signal }) });
  const { supportedVersions, capabilities } = result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN))
    throw new UpstreamFault('start', 'The server supports no protocol version that Squad knows.');
  const meta = isObject(result._meta) ? result._meta : {};
  return {
    era: 'modern',
    protocolVersion: MODERN,
    server: identity(meta[SERVER_KEY] ?? result.serverInfo),
    capabilities: isObject(capabilities) ? capabilities : {},
  };
}

function identity(info: unknown): { name: string; version: string } {
  const { name, version } = isObject(info) ? info : {};
  return {
    name: typeof name === 'string' ? name : 'unnamed',
    version: typeof version === 'string' ? version : 'unknown',
  };
}
