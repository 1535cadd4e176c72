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
  /** Asks for progress; each notice begins the timeout anew, up to half an hour in all. */
  onProgress?(update: Progress): void;
  /** What the client behind this request can be asked for by way of its answer. Sent to modern servers only. */
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

const META = 'io.modelcontextprotocol/';
export const VERSION_KEY = `${META}protocolVersion`;
const CLIENT_KEY = `${META}clientInfo`;
const CAPABILITIES_KEY = `${META}clientCapabilities`;
const SERVER_KEY = `${META}serverInfo`;

interface OwnMeta {
  /** The client, in the modern protocol. */
  envelope: Json | null;
  /** What the one behind this very request can be asked for. */
  capabilities: Json | undefined;
  progressToken: number | null;
}

/** Whatever a caller put into `_meta` stays here: tokens and envelopes are ours. */
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
   * What the one behind this link can be asked for. Left out: everything a legacy server can ask, where `events.onRequest`
   * is there to answer it, and nothing otherwise.
   */
  capabilities?: Json;
  /** For the whole handshake. */
  startTimeoutMs: number;
  signal?: AbortSignal;
  /** The most one message may be. */
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

/** `initialize`, and the notice that it was understood. Rejects with the answer when the server does not know it. */
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
    throw new UpstreamFault('start', `The server wants to speak a protocol Squad does not know: ${version}.`);
  await mux.notify('notifications/initialized');
  return {
    era: 'legacy',
    protocolVersion: version,
    server: identity(result.serverInfo),
    capabilities: isObject(result.capabilities) ? result.capabilities : {},
  };
}

/** `server/discover`. From here on every request says who asks. */
export async function handshakeModern(mux: Multiplexer, options: LinkOptions): Promise<UpstreamHandshake> {
  const { clientInfo, startTimeoutMs: timeoutMs, signal } = options;
  mux.envelope = {
    [VERSION_KEY]: MODERN,
    [CLIENT_KEY]: clientInfo,
    // A modern server asks by its answer, and that goes to the caller: nothing can be promised here on its behalf.
    [CAPABILITIES_KEY]: options.capabilities ?? {},
  };
  const result = await mux.request('server/discover', {}, { timeoutMs, ...(signal && { signal }) });
  const { supportedVersions, capabilities } = result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN))
    throw new UpstreamFault('start', 'The server speaks no protocol that Squad knows.');
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
