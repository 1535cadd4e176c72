import { hash } from 'node:crypto';
import { isObject } from '../../base/json.ts';
import { exposedUri } from '../../core/gateway/tool-names.ts';
import type { AuditEntry, ForwardedRequest } from '../../core/ports/gateway.ts';
import { type Json, type Progress, UpstreamFault } from '../../wire/upstream/link.ts';
import { Busy } from '../upstream/call-limit.ts';
import type { PooledServer } from '../upstream/pool.ts';
import { Unavailable } from '../upstream/upstream.ts';

/** Matches keys of `_meta` that are for one connection only, so the gateway does not pass them on. */
const RESERVED = /^(progressToken$|([^/]*\.)?(modelcontextprotocol|mcp)(\.[^/]*)?\/)/;

/** Returns the object without reserved keys in its `_meta`; the same object when it has none. */
export function withoutReservedMeta<T extends Record<string, unknown>>(value: T): T {
  const meta = value._meta;
  if (meta === undefined) return value;
  const { _meta, ...rest } = value;
  if (typeof meta !== 'object' || meta === null) return rest as T;
  const kept = Object.entries(meta).filter(([key]) => !RESERVED.test(key));
  return (kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) }) as T;
}

/**
 * Cuts texts that share a number of bytes, such as all texts of one result. A cut text gets a note that says how much
 * is missing.
 */
type TextBudget = (text: string) => string;

function createTextBudget(bytes: number): TextBudget {
  let left = bytes;
  return text => {
    if (left === Number.POSITIVE_INFINITY) return text;
    const size = Buffer.byteLength(text);
    if (size <= left) {
      left -= size;
      return text;
    }
    const kept = cutTo(text, left);
    left = 0;
    return `${kept}\n[cut by Squad: ${size - Buffer.byteLength(kept)} of ${size} bytes are not shown; ask for less at a time]`;
  };
}

/** Cuts a text to this many bytes, at the end of a whole character. */
function cutTo(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  let end = bytes;
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}

/** Turns a server's result into the one for the agent: exposed URIs, texts within the limit, no reserved `_meta`. `textBytes` is Infinity if the whole result is known to fit. */
export type Shape = (result: Json, server: string, textBytes: number) => Json;

export const shapeToolResult: Shape = (result, server, textBytes) => {
  const budget = createTextBudget(textBytes);
  const shaped = withoutReservedMeta(result);
  const content = mapped(shaped.content, block => contentBlock(block, server, budget));
  const withContent = content === shaped.content ? shaped : { ...shaped, content };
  return withinBounds(withContent, textBytes);
};

export const shapeReadResult: Shape = (result, server, textBytes) => {
  const budget = createTextBudget(textBytes);
  const contents = mapped(result.contents, item => resourceText(item, server, budget));
  return { ...withoutReservedMeta(result), contents };
};

export const shapePromptResult: Shape = (result, server, textBytes) => {
  const budget = createTextBudget(textBytes);
  const messages = mapped(result.messages, message =>
    isObject(message.content)
      ? { ...message, content: contentBlock(message.content, server, budget) }
      : message,
  );
  return { ...withoutReservedMeta(result), messages };
};

export const shapePlainResult: Shape = result => withoutReservedMeta(result);

function contentBlock(raw: Json, server: string, budget: TextBudget): Json {
  const block = withoutReservedMeta(raw);
  if (block.type === 'text') return withText(block, budget);
  if (block.type === 'resource_link') return withUri(block, server);
  if (block.type === 'resource' && isObject(block.resource))
    return { ...block, resource: resourceText(block.resource, server, budget) };
  return block;
}

const resourceText = (raw: Json, server: string, budget: TextBudget): Json =>
  withUri(withText(withoutReservedMeta(raw), budget), server);

function withText(block: Json, budget: TextBudget): Json {
  if (typeof block.text !== 'string') return block;
  const text = budget(block.text);
  return text === block.text ? block : { ...block, text };
}

const withUri = (block: Json, server: string): Json =>
  typeof block.uri === 'string' ? { ...block, uri: exposedUri(server, block.uri) } : block;

/**
 * Structured content cannot be cut and stay valid. If it is too large it is left out and the result is an error, because clients
 * refuse a successful result without it.
 */
function withinBounds(result: Json, textBytes: number): Json {
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || textBytes === Number.POSITIVE_INFINITY) return result;
  const size = Buffer.byteLength(JSON.stringify(structuredContent));
  if (size <= textBytes) return result;
  const content = Array.isArray(result.content) ? result.content : [];
  const text = `[cut by Squad: structured content of ${size} bytes is not shown; ask for less at a time]`;
  return { ...rest, content: [...content, { type: 'text', text }], isError: true };
}

/** Returns the same list when no element was changed. */
function mapped(list: unknown, change: (element: Json) => Json): unknown {
  if (!Array.isArray(list)) return list;
  const next = list.map(element => (isObject(element) ? change(element) : element));
  return next.some((element, at) => element !== list[at]) ? next : list;
}

export const INTERNAL_ERROR = -32603;

/** A JSON-RPC error for the agent: the server's own, or one that Squad sends instead of an answer. */
export class ForwardedError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'ForwardedError';
    this.code = code;
    this.data = data;
  }
}

/**
 * Thrown when the request was not sent, or when the server was lost during the request. The message is for the agent.
 */
export class ServerUnavailable extends Error {}

export type RequestKind = 'tool' | 'resource' | 'prompt' | 'completion';

export const REQUESTS: Record<RequestKind, { method: string; shape: Shape }> = {
  tool: { method: 'tools/call', shape: shapeToolResult },
  resource: { method: 'resources/read', shape: shapeReadResult },
  prompt: { method: 'prompts/get', shape: shapePromptResult },
  completion: { method: 'completion/complete', shape: shapePlainResult },
};

/** The outcome for the audit log, and the error for the agent, of a request that got no result. */
export function failureOf(
  server: PooledServer,
  error: unknown,
  unavailable: (fault: string) => ServerUnavailable,
): { outcome: string; thrown: Error } {
  const { id, redactor, timeoutMs } = server;
  if (error instanceof Unavailable) return { outcome: 'unavailable', thrown: unavailable(error.message) };
  if (error instanceof Busy) {
    const text = `The server ${id} is busy: this call waited ${timeoutMs / 1000} s for a free place and was not sent. Make fewer calls at once, or try again later.`;
    return { outcome: 'busy', thrown: new ServerUnavailable(text) };
  }
  if (!(error instanceof UpstreamFault))
    return { outcome: 'failed', thrown: error instanceof Error ? error : new Error(String(error)) };
  const message = redactor.text(error.message);
  if (error.kind === 'answer') {
    const { code, message: said, data } = error.error ?? { code: INTERNAL_ERROR, message, data: undefined };
    const thrown = new ForwardedError(code, redactor.text(said), redactor.deep(data));
    return { outcome: 'protocol_error', thrown };
  }
  if (error.kind === 'cancelled')
    return { outcome: 'cancelled', thrown: new ForwardedError(INTERNAL_ERROR, 'The request was cancelled.') };
  const what =
    server.upstream.health === 'up'
      ? `The server ${id} failed in this call: ${message.replace(/\.$/, '')}.`
      : unavailable(message).message;
  return {
    outcome: error.kind === 'timeout' ? 'timeout' : 'unavailable',
    thrown: new ServerUnavailable(
      `${what} It is not known whether the call was carried out; it was not repeated.`,
    ),
  };
}

/**
 * The result without secrets, and its JSON. A result that is nested too deeply can be neither redacted nor serialized.
 */
export function withoutSecrets(result: Json, { redactor }: PooledServer): { result: Json; json: string } {
  try {
    const json = JSON.stringify(result);
    if (!redactor.hits(json)) return { result, json };
    const clean = redactor.deep(result);
    return { result: clean, json: JSON.stringify(clean) };
  } catch (cause) {
    throw new UpstreamFault('transport', 'The answer is nested too deeply.', { cause });
  }
}

/** The gateway asks for progress even if the agent does not, because progress keeps a long call from timing out. */
export function progressListener(
  { redactor }: PooledServer,
  { progress }: ForwardedRequest,
): (update: Progress) => void {
  if (progress === null) return () => {};
  return update =>
    progress(update.message === undefined ? update : { ...update, message: redactor.text(update.message) });
}

/** An audit entry without the fields that are the same for every entry of a run. */
export type CallEntry = Pick<AuditEntry, 'server' | 'kind' | 'name' | 'decision' | 'outcome'> &
  Partial<AuditEntry>;

export function callEntry(
  { id, redactor }: PooledServer,
  kind: RequestKind,
  own: string,
  args: unknown,
): CallEntry {
  const name = redactor.text(own);
  const entry: CallEntry = { server: id, kind, name, decision: 'allowed', outcome: 'asked' };
  if (args === undefined) return entry;
  entry.argumentShape = argumentShape(args, redactor.text);
  entry.argumentHash = hashOfText(JSON.stringify(args));
  return entry;
}

const MAX_ARGUMENTS = 50;
const MAX_ARGUMENT_LENGTH = 100;

/** Describes arguments by name and type, never by value, because a value may be a secret. */
function argumentShape(args: unknown, redact: (text: string) => string): string {
  if (!isObject(args)) return JSON.stringify(typeOf(args));
  const entries = Object.entries(args);
  const shape = entries
    .slice(0, MAX_ARGUMENTS)
    .map(([name, value]) => [redact(name).slice(0, MAX_ARGUMENT_LENGTH), typeOf(value)]);
  if (entries.length > MAX_ARGUMENTS) shape.push(['…', `${entries.length - MAX_ARGUMENTS} more`]);
  return JSON.stringify(Object.fromEntries(shape));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

export const hashOfText = (text: string): string => hash('sha256', text);
