import type { IncomingHttpHeaders } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  classifyInboundRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type ProgressToken,
  ProtocolErrorCode,
  type RequestId,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { isObject } from '../../base/json.ts';
import type { Era, Face, Peer } from '../face/face.ts';
import { risingProgress } from '../face/progress.ts';
import { asProtocolError, internalError, toolCallError, unknownTool } from '../face/protocol-errors.ts';
import { readableResult, toolListText } from '../face/tool-result.ts';

/** An answer to a request, as text or bytes that are ready to be sent. */
export interface DirectAnswer {
  /** Parts of the message in order. Cached parts are bytes. */
  parts: (string | Buffer)[];
  /** HTTP status, used if this message is the whole response. */
  status: 200 | 400;
}

/** Joins neighbouring texts, so that most answers are a single text and need a single write. */
export function joinTexts(parts: DirectAnswer['parts']): DirectAnswer['parts'] {
  const joined: DirectAnswer['parts'] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (typeof part === 'string' && typeof last === 'string') joined[joined.length - 1] = last + part;
    else joined.push(part);
  }
  return joined;
}

export interface DirectCall {
  signal: AbortSignal;
  /** Sends a complete message before the answer; ignored after the answer. */
  notify(text: string): void;
}

/** Whether the request can be answered without the SDK. */
export function isDirect({ method, name }: PlainRequest, { forwarded }: Face): boolean {
  return method === 'tools/list' || forwarded?.takes(name) === true;
}

/** Never rejects: errors become answers too. Answers exactly as the SDK would, so that clients see no difference. */
export async function directAnswer(
  request: PlainRequest,
  face: Face,
  peer: Peer,
  call: DirectCall,
): Promise<DirectAnswer> {
  try {
    const result =
      request.method === 'tools/list'
        ? await listed(request, face, peer)
        : [JSON.stringify(await called(request, face, peer, call))];
    const end = `,"jsonrpc":"2.0","id":${JSON.stringify(request.id)}}`;
    return { parts: ['{"result":', ...result, end], status: 200 };
  } catch (thrown) {
    return errorAnswer(request, thrown);
  }
}

export function errorAnswer({ id, method, name }: PlainRequest, thrown: unknown): DirectAnswer {
  const { code, message, data } =
    method === 'tools/call' ? toolCallError(thrown, name) : asProtocolError(thrown);
  const error = { code: code === OLD_NOT_FOUND ? ProtocolErrorCode.InvalidParams : code, message, data };
  return {
    parts: [JSON.stringify({ jsonrpc: '2.0', id, error })],
    status: code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200,
  };
}

/** Error code of older revisions for a missing resource. */
const OLD_NOT_FOUND = -32002;

async function listed({ era }: PlainRequest, face: Face, peer: Peer): Promise<(string | Buffer)[]> {
  const tools = toolListText(await face.tools.list(peer), era);
  if (era === 'legacy') return ['{"tools":', tools, '}'];
  // Proxies must not cache this list, because it differs for each caller.
  const stamps = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', _meta: identity(face) };
  return ['{"tools":', tools, `,${JSON.stringify(stamps).slice(1)}`];
}

async function called(
  request: PlainRequest,
  face: Face,
  peer: Peer,
  call: DirectCall,
): Promise<Record<string, unknown>> {
  const { name, params, progressToken } = request;
  const rising = risingProgress();
  let isOver = false;
  const progress = (update: { progress: number; total?: number; message?: string }) => {
    if (isOver || call.signal.aborted) return;
    const at = rising(update.progress, update.total);
    const said = { progressToken, ...at, message: update.message };
    call.notify(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: said }));
  };
  try {
    const result = await face.forwarded!.call(name, params, {
      signal: call.signal,
      progress: progressToken === undefined ? null : progress,
    });
    if (result === null) throw unknownTool(name);
    return stamped(readableResult(result, peer.client), request, face);
  } finally {
    isOver = true;
  }
}

function stamped(
  result: Record<string, unknown>,
  { era }: PlainRequest,
  face: Face,
): Record<string, unknown> {
  const whole = isFinal(result) && result.content === undefined ? { ...result, content: [] } : result;
  if (era === 'legacy') {
    if (whole.resultType === 'input_required')
      throw internalError('The tool asks for more than this client can give');
    return whole;
  }
  const { resultType = 'complete', _meta: meta = {} } = whole;
  const isNamed = !isObject(meta) || meta[SERVER_INFO_META_KEY] !== undefined;
  return { ...whole, resultType, _meta: isNamed ? meta : { ...meta, ...identity(face) } };
}

const isFinal = (result: Record<string, unknown>) =>
  !('task' in result || 'inputRequests' in result || 'requestState' in result);

const identity = ({ info }: Face) => ({ [SERVER_INFO_META_KEY]: info });

/** The only revision of the modern era so far. */
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

/** Whether the SDK accepts the value. A client sends the same value with every request, so the result is cached. */
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

/** A request about tools that has only the usual fields, so that it can be answered without the SDK. */
export interface PlainRequest {
  era: Era;
  id: RequestId;
  method: 'tools/call' | 'tools/list';
  /** Name of the tool. Empty for a list. */
  name: string;
  /** Params without the parts of `_meta` that are meant for Squad alone. */
  params: Record<string, unknown>;
  progressToken: ProgressToken | undefined;
  /** The client, if the request names it, as modern requests do. Null otherwise. */
  peer: Peer | null;
}

const FIELDS = new Set(['jsonrpc', 'id', 'method', 'params']);
const PARAMS = { 'tools/call': new Set(['name', 'arguments', '_meta']), 'tools/list': new Set(['_meta']) };

/** Returns null for anything unusual, which is left to the SDK. */
export function plainRequest(body: unknown): PlainRequest | null {
  if (!isObject(body)) return null;
  const { jsonrpc, id, method, params = {} } = body;
  if (method !== 'tools/call' && method !== 'tools/list') return null;
  if (jsonrpc !== '2.0' || !isId(id) || !isObject(params)) return null;
  if (!hasOnly(body, FIELDS) || !hasOnly(params, PARAMS[method])) return null;
  const { name = '', arguments: args, _meta: meta } = params;
  if (typeof name !== 'string' || (args !== undefined && !isObject(args))) return null;
  if ((method === 'tools/call') === (name === '')) return null;
  // The SDK removes this field before it forwards a request.
  if (args !== undefined && Object.hasOwn(args, '__proto__')) return null;
  const plain: PlainRequest = {
    era: 'legacy',
    id,
    method,
    name,
    // The SDK adds empty arguments to a call without arguments. A direct answer does the same, so the other server sees
    // no difference.
    params: method === 'tools/call' && args === undefined ? { ...params, arguments: {} } : params,
    progressToken: undefined,
    peer: null,
  };
  if (meta === undefined) return plain;
  const said = isObject(meta) ? readMeta(meta) : null;
  return said && { ...plain, ...said.about, params: withMeta(plain.params, said.rest) };
}

const NAME = /^[\w.-]+$/;

/** Whether the headers of an HTTP request agree with its body. */
export function headersAgree(headers: IncomingHttpHeaders, { era, method, name }: PlainRequest): boolean {
  const version = headers['mcp-protocol-version'];
  if (era === 'legacy') return version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
  if (version !== MODERN_REVISION || headers['mcp-method'] !== method) return false;
  // Only plain names are compared here. Other names are sent encoded, and the SDK handles them.
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
