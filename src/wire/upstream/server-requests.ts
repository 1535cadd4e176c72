import { type Json, type LinkEvents, UpstreamFault } from './link.ts';

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;
/** A server that asks more than this at once is not asking. */
const MOST_AT_ONCE = 64;

/** What a server asks of us: a ping is answered, the rest is for whoever has the server to himself. */
export class ServerRequests {
  readonly #events: LinkEvents;
  readonly #send: (message: Json) => void;
  readonly #open = new Map<string | number, AbortController>();

  constructor(events: LinkEvents, send: (message: Json) => void) {
    this.#events = events;
    this.#send = send;
  }

  /** It waits for an answer of ours. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  take(id: string | number, method: string, params: Json): void {
    if (method === 'ping') this.#send({ jsonrpc: '2.0', id, result: {} });
    else if (!this.#events.onRequest) this.#turnAway(id, METHOD_NOT_FOUND, 'Method not found');
    else if (this.#open.has(id) || this.#open.size >= MOST_AT_ONCE)
      this.#turnAway(id, INTERNAL_ERROR, 'Too many requests at once');
    else void this.#hand(this.#events.onRequest.bind(this.#events), id, method, params);
  }

  /** The server takes one of its requests back. */
  abort(id: unknown): boolean {
    const controller = this.#open.get(id as string | number);
    controller?.abort();
    return controller !== undefined;
  }

  /** The server is not there any more; whoever was asked finds that as the reason. */
  abortAll(): void {
    for (const controller of this.#open.values()) controller.abort('server_gone');
  }

  async #hand(
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
      // An error of the one who was asked goes back as it is; of any other the server learns nothing.
      const answer = error instanceof UpstreamFault ? error.error : null;
      if (answer) this.#send({ jsonrpc: '2.0', id, error: answer });
      else this.#refuse(id, METHOD_NOT_FOUND, 'Method not found');
    } finally {
      this.#open.delete(id);
    }
  }

  /** Refused without asking anybody, so it counts as a message for nobody. */
  #turnAway(id: string | number, code: number, message: string): void {
    this.#events.onStray();
    this.#refuse(id, code, message);
  }

  #refuse(id: string | number, code: number, message: string): void {
    this.#send({ jsonrpc: '2.0', id, error: { code, message } });
  }
}
