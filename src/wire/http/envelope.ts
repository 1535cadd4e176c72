import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';

/** The one revision of the modern era so far. */
export const MODERN_REVISION = '2026-07-28';

const KEYS = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
];

export const isEnvelopeKey = (key: string): boolean => KEYS.includes(key);

const MOST_KNOWN = 200;
const LONGEST_KNOWN = 10_000;
const known = new Set<string>();

/** Whether the SDK takes it for one. A client sends the same with every request, so it is asked once for each. */
export function isEnvelope(envelope: Record<string, unknown>): boolean {
  if (envelope[PROTOCOL_VERSION_META_KEY] !== MODERN_REVISION) return false;
  const text = JSON.stringify(envelope);
  if (known.has(text)) return true;
  const body = { jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta: envelope } };
  if (classifyInboundRequest({ httpMethod: 'POST', body }).kind !== 'modern') return false;
  if (known.size >= MOST_KNOWN) known.clear();
  if (text.length <= LONGEST_KNOWN) known.add(text);
  return true;
}
