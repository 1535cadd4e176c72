import type { IncomingHttpHeaders } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  classifyInboundRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type ProgressToken,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { isObject } from '../../base/json.ts';
import type { Era, Peer } from '../face/face.ts';

/** The one revision of the modern era so far. */
export const MODERN_REVISION = '2026-07-28';

const KEYS = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
];

const isEnvelopeKey = (key: string): boolean => KEYS.includes(key);

const MAX_CACHED = 200;
const MAX_CACHED_LENGTH = 10_000;
const known = new Set<string>();

/** Whether the SDK takes it for one. A client sends the same with every request, so it is asked once for each. */
function isEnvelope(envelope: Record<string, unknown>): boolean {
  if (envelope[PROTOCOL_VERSION_META_KEY] !== MODERN_REVISION) return false;
  const text = JSON.stringify(envelope);
  if (known.has(text)) return true;
  const body = { jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta: envelope } };
  if (classifyInboundRequest({ httpMethod: 'POST', body }).kind !== 'modern') return false;
  if (known.size >= MAX_CACHED) known.clear();
  if (text.length <= MAX_CACHED_LENGTH) known.add(text);
  return true;
}

/** A request about tools that says the usual things and nothing besides, so that the SDK need not look at it. */
export interface PlainRequest {
  era: Era;
  id: RequestId;
  method: 'tools/call' | 'tools/list';
  /** Of the tool; empty for a list. */
  name: string;
  /** Without what was meant for us alone. */
  params: Record<string, unknown>;
  progressToken: ProgressToken | undefined;
  /** The client, where the request itself names it: in the modern protocol. */
  peer: Peer | null;
}

const FIELDS = new Set(['jsonrpc', 'id', 'method', 'params']);
const PARAMS = { 'tools/call': new Set(['name', 'arguments', '_meta']), 'tools/list': new Set(['_meta']) };

/** Null for whatever is out of the ordinary: the SDK knows what to say to that. */
export function plainRequest(body: unknown): PlainRequest | null {
  if (!isObject(body)) return null;
  const { jsonrpc, id, method, params = {} } = body;
  if (method !== 'tools/call' && method !== 'tools/list') return null;
  if (jsonrpc !== '2.0' || !isId(id) || !isObject(params)) return null;
  if (!hasOnly(body, FIELDS) || !hasOnly(params, PARAMS[method])) return null;
  const { name = '', arguments: args, _meta: meta } = params;
  if (typeof name !== 'string' || (args !== undefined && !isObject(args))) return null;
  if ((method === 'tools/call') === (name === '')) return null;
  // The SDK takes this one out on its way.
  if (args !== undefined && Object.hasOwn(args, '__proto__')) return null;
  const plain: PlainRequest = {
    era: 'legacy',
    id,
    method,
    name,
    // As the SDK's way has it, so that the other server cannot tell the two apart.
    params: method === 'tools/call' && args === undefined ? { ...params, arguments: {} } : params,
    progressToken: undefined,
    peer: null,
  };
  if (meta === undefined) return plain;
  const said = isObject(meta) ? readMeta(meta) : null;
  return said && { ...plain, ...said.about, params: withMeta(plain.params, said.rest) };
}

const NAME = /^[\w.-]+$/;

/** Whether the headers of an HTTP request say what its body says. */
export function headersAgree(headers: IncomingHttpHeaders, { era, method, name }: PlainRequest): boolean {
  const version = headers['mcp-protocol-version'];
  if (era === 'legacy') return version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
  if (version !== MODERN_REVISION || headers['mcp-method'] !== method) return false;
  // Other names travel encoded.
  return method === 'tools/list' || (headers['mcp-name'] === name && NAME.test(name));
}

interface Meta {
  about: Pick<PlainRequest, 'era' | 'progressToken' | 'peer'>;
  rest: Record<string, unknown>;
}

function readMeta(meta: Record<string, unknown>): Meta | null {
  const { progressToken } = meta;
  if (progressToken !== undefined && !isId(progressToken)) return null;
  const envelope: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(meta)) {
    if (key === 'progressToken') continue;
    if (isEnvelopeKey(key)) envelope[key] = value;
    else if (key.startsWith('io.modelcontextprotocol/') || key === '__proto__') return null;
    else rest[key] = value;
  }
  const isLegacy = Object.keys(envelope).length === 0;
  if (!isLegacy && !isEnvelope(envelope)) return null;
  const era = isLegacy ? 'legacy' : 'modern';
  return { about: { era, progressToken, peer: isLegacy ? null : peerOf(envelope) }, rest };
}

function peerOf(envelope: Record<string, unknown>): Peer {
  const info = envelope[CLIENT_INFO_META_KEY] as { name: string; version: string } | undefined;
  return {
    era: 'modern',
    client: info ? { name: info.name, version: info.version } : null,
    capabilities: envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities,
  };
}

function withMeta(params: Record<string, unknown>, rest: Record<string, unknown>): Record<string, unknown> {
  const { _meta, ...others } = params;
  return Object.keys(rest).length > 0 ? { ...others, _meta: rest } : others;
}

const isId = (value: unknown): value is RequestId => typeof value === 'string' || Number.isSafeInteger(value);

function hasOnly(object: Record<string, unknown>, keys: Set<string>): boolean {
  for (const key in object) if (!keys.has(key)) return false;
  return true;
}
