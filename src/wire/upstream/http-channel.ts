import { isObject, tryParseJson } from '../../base/json.ts';
import {
  type Answer,
  answerTooLarge,
  isType,
  networkFault,
  readText,
  StatusFault,
  tooLarge,
  UnreachableFault,
} from './http-session.ts';
import { type Channel, cancelNotice, type Json, MODERN, UpstreamFault, VERSION_KEY } from './link.ts';
import {
  ACCEPT,
  type HttpChannelOptions,
  MAX_REFUSAL_BYTES,
  readMessages,
  type StreamPosition,
} from './sse.ts';

/** Parameter that names the target of a request, by method. */
const NAMED_BY: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

const isModern = (message: Json): boolean =>
  isObject(message.params) && isObject(message.params._meta) && message.params._meta[VERSION_KEY] === MODERN;

interface MirroredParameter {
  path: string[];
  header: string;
}

/** Headers of modern requests, which repeat parts of the body. The schema of a tool can name arguments to repeat, too. */
class ModernHeaders {
  readonly #mirrored = new Map<string, MirroredParameter[]>();

  /** Reads from a list of tools which arguments to repeat in headers. */
  learn(result: Json): void {
    if (!Array.isArray(result.tools)) return;
    for (const tool of result.tools) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue;
      const found = mirroredParameters(tool.inputSchema, [], 0);
      if (found.length > 0) this.#mirrored.set(tool.name, found);
      else this.#mirrored.delete(tool.name);
    }
  }

  of(message: Json): Record<string, string> {
    const method = String(message.method);
    const params = message.params as Json;
    const headers: Record<string, string> = { 'mcp-protocol-version': MODERN, 'mcp-method': method };
    const name = Object.hasOwn(NAMED_BY, method) ? params[NAMED_BY[method] ?? ''] : undefined;
    if (typeof name !== 'string') return headers;
    headers['mcp-name'] = asHeader(name);
    if (method !== 'tools/call') return headers;
    for (const { path, header } of this.#mirrored.get(name) ?? []) {
      const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), params.arguments);
      if (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value))
        headers[`mcp-param-${header}`] = asHeader(String(value));
    }
    return headers;
  }
}

const MAX_DEPTH = 16;

function mirroredParameters(schema: unknown, path: string[], depth: number): MirroredParameter[] {
  if (!isObject(schema) || depth > MAX_DEPTH) return [];
  const header = schema['x-mcp-header'];
  const own =
    path.length > 0 && typeof header === 'string' && /^[\w!#$%&'*+\-.^`|~]+$/.test(header)
      ? [{ path, header }]
      : [];
  const inner = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return [...own, ...inner.flatMap(([key, child]) => mirroredParameters(child, [...path, key], depth + 1))];
}

/** Returns the value unchanged, or encoded if a header cannot contain it. */
function asHeader(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (isPlain && !/^=\?base64\?.*\?=$/.test(value)) return value;
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

const RESUME_MS = 1000;

/** Streamable HTTP: each message is an HTTP request, and its answer is JSON or an event stream. */
export class HttpChannel implements Channel {
  readonly #options: HttpChannelOptions;
  readonly #modernHeaders = new ModernHeaders();
  readonly #underWay = new Set<AbortController>();
  readonly #open = new Map<number, { leave: AbortController; isModern: boolean }>();

  constructor(options: HttpChannelOptions) {
    this.#options = options;
    options.over.addEventListener('abort', () => {
      for (const leave of this.#underWay) leave.abort();
    });
  }

  async send(message: Json): Promise<void> {
    const { mux } = this.#options;
    const id = typeof message.method === 'string' && typeof message.id === 'number' ? message.id : null;
    const leave = new AbortController();
    this.#underWay.add(leave);
    if (id !== null) this.#open.set(id, { leave, isModern: isModern(message) });
    try {
      await this.#post(message, id, leave.signal);
      if (id !== null && mux.isPending(id))
        mux.fail(id, new UpstreamFault('transport', 'The server ended the stream without an answer.'));
    } catch (error) {
      const fault = networkFault(error, this.#options.session.url.host);
      if (id !== null) mux.fail(id, fault);
      this.#endIfGone(fault);
    } finally {
      this.#underWay.delete(leave);
      if (id !== null) this.#open.delete(id);
    }
  }

  cancel(id: number, reason: string): void {
    const open = this.#open.get(id);
    // A modern server treats a closed connection as a cancel request. A legacy server needs a notification.
    if (open && !open.isModern) void this.send(cancelNotice(id, reason));
    open?.leave.abort();
  }

  /** Opens the stream for unsolicited messages of a legacy server. False if the server offers none. */
  async listen(position: StreamPosition): Promise<boolean> {
    const answer = await this.#get(position, this.#options.over).catch(error => {
      this.#endIfGone(error);
      throw error;
    });
    if (answer.status >= 500 || answer.status === 429) throw await this.#refusal(answer);
    if (answer.status !== 200 || !isType(answer, 'text/event-stream')) {
      await this.#refusal(answer);
      return false;
    }
    await readMessages(answer.body, { ...this.#options, position, isDone: () => false });
    return true;
  }

  async #post(message: Json, id: number | null, signal: AbortSignal): Promise<void> {
    const { session, mux, maxFrameBytes } = this.#options;
    const answer = await session.ask('POST', {
      body: JSON.stringify(message),
      headers: { accept: ACCEPT, ...(isModern(message) && this.#modernHeaders.of(message)) },
      signal,
    });
    if (message.method === 'initialize' && answer.status === 200)
      session.sessionId = String(answer.headers['mcp-session-id'] ?? '') || null;
    if (answer.status < 200 || answer.status > 299) return this.#takeRefusal(answer, id);
    if (id === null) await readText(answer.body, MAX_REFUSAL_BYTES);
    else if (isType(answer, 'application/json')) {
      const received = parsed(await readText(answer.body, maxFrameBytes, answerTooLarge));
      this.#learn(message, received);
      mux.receive(received);
    } else if (isType(answer, 'text/event-stream')) await this.#readStream(answer, message, id, signal);
    else {
      answer.body.destroy();
      throw new UpstreamFault(
        'transport',
        'The server answered with something that is neither JSON nor events.',
      );
    }
  }

  async #readStream(first: Answer, message: Json, id: number, signal: AbortSignal): Promise<void> {
    const { mux } = this.#options;
    const position: StreamPosition = { lastEventId: null, retryMs: null };
    const onMessage = (received: unknown) => this.#learn(message, received);
    const isDone = () => !mux.isPending(id);
    for (let answer = first; ; answer = await this.#get(position, signal)) {
      if (answer.status !== 200) return this.#takeRefusal(answer, id);
      await readMessages(answer.body, {
        ...this.#options,
        position,
        isDone,
        onMessage,
        // A message over the limit fails the whole link in a subscription, because its events answer no request.
        excess: message.method === 'subscriptions/listen' ? tooLarge : answerTooLarge,
      });
      // A legacy server may end a stream early, if its events have ids. The client then asks for the events that are
      // missing.
      if (isDone() || position.lastEventId === null || isModern(message)) return;
      await new Promise(resolve => setTimeout(resolve, position.retryMs ?? RESUME_MS));
      if (isDone() || signal.aborted) return;
    }
  }

  #learn(asked: Json, received: unknown): void {
    if (asked.method === 'tools/list' && isModern(asked) && isObject(received) && isObject(received.result))
      this.#modernHeaders.learn(received.result);
  }

  #get({ lastEventId }: StreamPosition, signal: AbortSignal): Promise<Answer> {
    const headers = {
      accept: 'text/event-stream',
      ...(lastEventId !== null && { 'last-event-id': lastEventId }),
    };
    return this.#options.session.ask('GET', { headers, signal });
  }

  /** A JSON-RPC error may come with any HTTP status. Then it is the server's own answer. */
  async #takeRefusal(answer: Answer, id: number | null): Promise<void> {
    const { mux } = this.#options;
    const text = await readText(answer.body, MAX_REFUSAL_BYTES);
    const received = isType(answer, 'application/json') ? tryParseJson(text) : null;
    const fault = this.#faultOf(answer, isObject(received) ? received.id : null, id);
    if (mux.fault) return;
    const isAnswer = fault.kind !== 'unauthorized' && !fault.isPassing && isObject(received);
    if (isAnswer && isObject(received.error) && id !== null) mux.receive({ ...received, id });
    else throw fault;
  }

  async #refusal(answer: Answer): Promise<StatusFault> {
    await readText(answer.body, MAX_REFUSAL_BYTES).catch(() => {});
    return this.#faultOf(answer, null, 0);
  }

  /** Converts a failed response to a fault. Also ends the link if the server has ended the session. */
  #faultOf({ status, headers }: Answer, answeredId: unknown, id: number | null): StatusFault {
    const { session } = this.#options;
    if (status === 404 && session.sessionId !== null && (id === null || answeredId !== id))
      this.#endSession();
    return new StatusFault(status, headers);
  }

  /** If the server is unreachable or unauthorized, every other request fails too. */
  #endIfGone(fault: unknown): void {
    if (fault instanceof UnreachableFault || (fault instanceof StatusFault && fault.status === 401))
      this.#options.mux.end(fault);
  }

  #endSession(): void {
    this.#options.session.sessionId = null;
    this.#options.mux.end(new UpstreamFault('session', 'The server has ended the session.'));
  }
}

function parsed(text: string): unknown {
  const value = tryParseJson(text);
  if (value === undefined) throw new UpstreamFault('transport', 'The server answered with invalid JSON.');
  return value;
}
