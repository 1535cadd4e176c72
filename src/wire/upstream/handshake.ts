import { isObject } from '../../base/json.ts';
import type { Era } from '../face/face.ts';
import { type Json, type LinkEvents, UpstreamFault } from './link.ts';
import type { Multiplexer } from './multiplexer.ts';

const META = 'io.modelcontextprotocol/';
export const VERSION_KEY = `${META}protocolVersion`;
const CLIENT_KEY = `${META}clientInfo`;
const CAPABILITIES_KEY = `${META}clientCapabilities`;
const SERVER_KEY = `${META}serverInfo`;

interface OwnMeta {
  /** The client, in the modern protocol. */
  envelope: Json | null;
  /** Capabilities of the client behind this request. */
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
   * Capabilities of the client behind this link. Default: everything a legacy server can request, where `events.onRequest`
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
