import type { Json } from './link.ts';

const META = 'io.modelcontextprotocol/';
export const VERSION_KEY = `${META}protocolVersion`;
export const CLIENT_KEY = `${META}clientInfo`;
export const CAPABILITIES_KEY = `${META}clientCapabilities`;
export const SERVER_KEY = `${META}serverInfo`;

interface OwnMeta {
  /** Who asks, in the modern era. */
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
