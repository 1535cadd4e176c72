import { ProtocolErrorCode, SERVER_INFO_META_KEY } from '@modelcontextprotocol/server';
import { isObject } from '../../base/json.ts';
import type { Face, Peer } from '../face/face.ts';
import { risingProgress } from '../face/progress.ts';
import { asProtocolError, internalError, toolCallError, unknownTool } from '../face/protocol-errors.ts';
import { readableResult, toolListText } from '../face/tool-result.ts';
import type { PlainRequest } from './plain-request.ts';

/** A whole message as it goes on the wire. */
export interface DirectAnswer {
  text: string;
  /** For HTTP, if it is all there is to say. */
  status: 200 | 400;
}

export interface DirectCall {
  signal: AbortSignal;
  /** Sends a whole message before the answer; says nothing after it. */
  notify(text: string): void;
}

/** Whether the request can be answered past the SDK. */
export function isDirect({ method, name }: PlainRequest, { forwarded }: Face): boolean {
  return method === 'tools/list' || forwarded?.takes(name) === true;
}

/** Never rejects: what goes wrong is an answer too. Says what the SDK would say, so that nobody can tell the two apart. */
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
        : JSON.stringify(await called(request, face, peer, call));
    return { text: `{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(request.id)}}`, status: 200 };
  } catch (thrown) {
    return errorAnswer(request, thrown);
  }
}

export function errorAnswer({ id, method, name }: PlainRequest, thrown: unknown): DirectAnswer {
  const { code, message, data } =
    method === 'tools/call' ? toolCallError(thrown, name) : asProtocolError(thrown);
  const error = { code: code === OLD_NOT_FOUND ? ProtocolErrorCode.InvalidParams : code, message, data };
  return {
    text: JSON.stringify({ jsonrpc: '2.0', id, error }),
    status: code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200,
  };
}

/** The code that a resource which is not there had in older revisions. */
const OLD_NOT_FOUND = -32002;

async function listed({ era }: PlainRequest, face: Face, peer: Peer): Promise<string> {
  const tools = toolListText(await face.tools.list(peer), era);
  if (era === 'legacy') return `{"tools":${tools}}`;
  // Proxies must not cache the list: each caller sees another one.
  const stamps = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', _meta: identity(face) };
  return `{"tools":${tools},${JSON.stringify(stamps).slice(1)}`;
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
