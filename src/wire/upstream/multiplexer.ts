import { isObject } from '../../base/json.ts';
import {
  type Channel,
  type Json,
  type LinkEvents,
  type LinkRequest,
  type Progress,
  UpstreamFault,
  type UpstreamHandshake,
  type UpstreamLink,
  withMeta,
} from './link.ts';

/** A request that waits for its response. */
interface Pending {
  resolve(result: Json): void;
  reject(fault: UpstreamFault): void;
  /** Timer of the request. Undefined if the request waits as long as the link lasts. */
  timer: NodeJS.Timeout | undefined;
  timeoutMs: number;
  ceilingAt: number;
  onTime(): void;
  onProgress: ((update: Progress) => void) | undefined;
  stopListening(): void;
}

/** Maximum duration of a request, even if it makes progress. */
const CEILING_MS = 30 * 60_000;

/** Restarts the timeout after progress. */
function extend(pending: Pending): void {
  const left = pending.ceilingAt - performance.now();
  if (left > pending.timeoutMs) {
    pending.timer?.refresh();
    return;
  }
  clearTimeout(pending.timer);
  pending.timer = setTimeout(pending.onTime, Math.max(left, 0));
}

function settle(pending: Pending, { error, result }: Json): void {
  if (isObject(error)) pending.reject(answered(error));
  else if (isObject(result)) pending.resolve(result);
  else pending.reject(new UpstreamFault('transport', 'The server answered without a result.'));
}

function answered({ code, message, data }: Json): UpstreamFault {
  if (typeof code !== 'number' || typeof message !== 'string')
    return new UpstreamFault('transport', 'The server answered with an invalid error.');
  return new UpstreamFault('answer', message, {
    error: { code, message, ...(data !== undefined && { data }) },
  });
}

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;
/** Maximum number of requests that one server may have open. */
const MAX_AT_ONCE = 64;

/** Requests from the server. Pings are answered here; other requests go to the only client of the server. */
class ServerRequests {
  readonly #events: LinkEvents;
  readonly #send: (message: Json) => void;
  readonly #open = new Map<string | number, AbortController>();

  constructor(events: LinkEvents, send: (message: Json) => void) {
    this.#events = events;
    this.#send = send;
  }

  /** Whether a request of the server still needs an answer. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  take(id: string | number, method: string, params: Json): void {
    if (method === 'ping') this.#send({ jsonrpc: '2.0', id, result: {} });
    else if (!this.#events.onRequest) this.#refuseStray(id, METHOD_NOT_FOUND, 'Method not found');
    else if (this.#open.has(id) || this.#open.size >= MAX_AT_ONCE)
      this.#refuseStray(id, INTERNAL_ERROR, 'Too many requests at once');
    else void this.#forward(this.#events.onRequest.bind(this.#events), id, method, params);
  }

  /** Called when the server cancels one of its requests. */
  abort(id: unknown): boolean {
    const controller = this.#open.get(id as string | number);
    controller?.abort();
    return controller !== undefined;
  }

  /** The server is gone: aborts its open requests with that reason. */
  abortAll(): void {
    for (const controller of this.#open.values()) controller.abort('server_gone');
  }

  async #forward(
    onRequest: NonNullable<LinkEvents['onRequest']>,
    id: string | number,
    method: string,
    params: Json,
  ): Promise<void> {
    const controller = new AbortController();
    this.#open.set(id, controller);
    try {
      const result = await onRequest(method, params, controller.signal);
      if (!controller.signal.aborted) this.#send({ jsonrpc: '2.0', id, result });
    } catch (error) {
      if (controller.signal.aborted) return;
      // A JSON-RPC error of the client is passed on unchanged. For any other error the server gets no details.
      const answer = error instanceof UpstreamFault ? error.error : null;
      if (answer) this.#send({ jsonrpc: '2.0', id, error: answer });
      else this.#refuse(id, METHOD_NOT_FOUND, 'Method not found');
    } finally {
      this.#open.delete(id);
    }
  }

  /** Refuses a request of a server without asking the client, and counts the request as a stray message. */
  #refuseStray(id: string | number, code: number, message: string): void {
    this.#events.onStray();
    this.#refuse(id, code, message);
  }

  #refuse(id: string | number, code: number, message: string): void {
    this.#send({ jsonrpc: '2.0', id, error: { code, message } });
  }
}

/**
 * Sends many requests over one channel. Each gets an id and a progress token of this link, by which its answer is
 * found. All other messages are notifications, requests of the server, or stray.
 */
export class Multiplexer {
  readonly closed: Promise<UpstreamFault>;
  /** Fields for `_meta` of every request, in addition to the progress token. */
  envelope: Json | null = null;
  readonly #events: LinkEvents;
  readonly #pending = new Map<number, Pending>();
  readonly #serverRequests: ServerRequests;
  readonly #settleClosed: (fault: UpstreamFault) => void;
  #channel: Channel | null = null;
  #lastId = 0;
  #standing = 0;
  #fault: UpstreamFault | null = null;

  constructor(events: LinkEvents) {
    this.#events = events;
    this.#serverRequests = new ServerRequests(events, message => this.#channel?.send(message));
    const { promise, resolve } = Promise.withResolvers<UpstreamFault>();
    this.closed = promise;
    this.#settleClosed = resolve;
  }

  attach(channel: Channel): void {
    this.#channel = channel;
  }

  /** Does not count subscriptions, which stay open as long as the link lasts. */
  get inFlight(): number {
    return this.#pending.size - this.#standing;
  }

  get fault(): UpstreamFault | null {
    return this.#fault;
  }

  request(method: string, params: Json, options: LinkRequest): Promise<Json> {
    return this.#ask(method, params, options, options.timeoutMs);
  }

  /** Sends a request without a timeout: the server answers when it ends the subscription. */
  standing(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    return this.#ask(method, params, { signal }, null);
  }

  async notify(method: string): Promise<void> {
    await this.#channel?.send({ jsonrpc: '2.0', method });
  }

  isPending(id: number): boolean {
    return this.#pending.has(id);
  }

  /** Handles one parsed but unchecked message. */
  receive(message: unknown): void {
    if (this.#fault) return;
    // A batch is split into its messages. A batch inside a batch is stray.
    if (Array.isArray(message)) for (const each of message) this.#takeOne(each);
    else this.#takeOne(message);
  }

  /** Fails one request. */
  fail(id: number, fault: UpstreamFault): void {
    this.#take(id)?.reject(fault);
  }

  /** Fails all open requests with this fault, and ends the link. */
  end(fault: UpstreamFault): void {
    if (this.#fault) return;
    this.#fault = fault;
    for (const id of [...this.#pending.keys()]) this.fail(id, fault);
    this.#serverRequests.abortAll();
    this.#settleClosed(fault);
  }

  #ask(
    method: string,
    params: Json,
    options: Omit<LinkRequest, 'timeoutMs'>,
    timeoutMs: number | null,
  ): Promise<Json> {
    const { signal, onProgress, capabilities } = options;
    if (this.#fault) return Promise.reject(this.#fault);
    if (signal?.aborted) return Promise.reject(cancelled(method));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#giveUp(id, cancelled(method));
      const onTime = () => {
        const pending = this.#pending.get(id);
        // The server itself waits for an answer, possibly of a person, so its request gets more time.
        if (pending && this.#serverRequests.isOpen && performance.now() < pending.ceilingAt) extend(pending);
        else this.#giveUp(id, new UpstreamFault('timeout', `No answer to ${method} within the time limit.`));
      };
      this.#pending.set(id, {
        resolve,
        reject,
        timer: timeoutMs === null ? undefined : setTimeout(onTime, timeoutMs),
        timeoutMs: timeoutMs ?? 0,
        ceilingAt: performance.now() + CEILING_MS,
        onTime,
        onProgress,
        stopListening: () => signal?.removeEventListener('abort', onAbort),
      });
      if (timeoutMs === null) this.#standing++;
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#channel?.send({
        jsonrpc: '2.0',
        id,
        method,
        params: withMeta(params, {
          envelope: this.envelope,
          capabilities,
          progressToken: onProgress ? id : null,
        }),
      });
    });
  }

  #giveUp(id: number, fault: UpstreamFault): void {
    const pending = this.#take(id);
    if (!pending) return;
    pending.reject(fault);
    this.#channel?.cancel(id, fault.message);
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    this.#pending.delete(id);
    if (pending.timer === undefined) this.#standing--;
    clearTimeout(pending.timer);
    pending.stopListening();
    return pending;
  }

  #takeOne(message: unknown): void {
    if (!isObject(message)) this.#events.onStray();
    else if (typeof message.method === 'string')
      this.#takeUnsolicited(message.id, message.method, message.params);
    else this.#takeAnswer(message);
  }

  #takeAnswer(message: Json): void {
    const pending = typeof message.id === 'number' ? this.#take(message.id) : undefined;
    if (pending) settle(pending, message);
    else this.#events.onStray();
  }

  #takeUnsolicited(id: unknown, method: string, given: unknown): void {
    const params = isObject(given) ? given : {};
    if (id === undefined) this.#takeNotification(method, params);
    else if (typeof id === 'string' || typeof id === 'number') this.#serverRequests.take(id, method, params);
    else this.#events.onStray();
  }

  #takeNotification(method: string, params: Json): void {
    if (method === 'notifications/progress') this.#takeProgress(params);
    else if (method === 'notifications/cancelled') this.#takeCancel(params.requestId);
    // The notification `acknowledged` only confirms that the stream is open.
    else if (method !== 'notifications/subscriptions/acknowledged')
      this.#events.onNotification(method, params);
  }

  #takeCancel(requestId: unknown): void {
    if (this.#serverRequests.abort(requestId)) return;
    // A server ends a subscription on a stream by cancelling the request.
    const pending = typeof requestId === 'number' ? this.#pending.get(requestId) : undefined;
    if (pending && pending.timer === undefined)
      this.fail(requestId as number, new UpstreamFault('transport', 'The server ended the subscription.'));
    else this.#events.onStray();
  }

  #takeProgress({ progressToken, progress, total, message }: Json): void {
    const pending = typeof progressToken === 'number' ? this.#pending.get(progressToken) : undefined;
    if (!pending?.onProgress || typeof progress !== 'number' || !Number.isFinite(progress)) {
      this.#events.onStray();
      return;
    }
    extend(pending);
    pending.onProgress({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
  }
}

const cancelled = (method: string): UpstreamFault =>
  new UpstreamFault('cancelled', `${method} was cancelled.`);

export const handshakeRefused = (fault: UpstreamFault): UpstreamFault =>
  new UpstreamFault('start', `The server refused to begin: ${fault.message}`, { cause: fault });

export function toLink(
  mux: Multiplexer,
  handshake: UpstreamHandshake,
  close: () => Promise<void>,
): UpstreamLink {
  return {
    era: handshake.era,
    server: handshake.server,
    capabilities: handshake.capabilities,
    request: (method, params, request) => mux.request(method, params, request),
    inFlight: () => mux.inFlight,
    closed: mux.closed,
    close,
  };
}
