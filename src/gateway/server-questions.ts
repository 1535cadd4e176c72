import type { Redactor } from '../core/gateway/redaction.ts';
import type { ForwardedClient } from '../core/ports/gateway.ts';
import { type Json, UpstreamFault } from '../wire/upstream/link.ts';

/** What a server may ask a client, and what the client must have said it can. */
const QUESTIONS = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

/** Questions and log messages of a server that one run has to itself, brought to the client whose call it is busy with. */
export class ServerQuestions {
  readonly #redactor: Redactor;
  readonly #onStray: () => void;
  readonly #busyFor: ForwardedClient[] = [];
  #latest: ForwardedClient | null = null;

  constructor(redactor: Redactor, onStray: () => void) {
    this.#redactor = redactor;
    this.#onStray = onStray;
  }

  async during<T>(client: ForwardedClient | null, call: () => Promise<T>): Promise<T> {
    if (client === null) return await call();
    this.#busyFor.push(client);
    this.#latest = client;
    try {
      return await call();
    } finally {
      this.#busyFor.splice(this.#busyFor.lastIndexOf(client), 1);
    }
  }

  ask(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    const client = this.#listener();
    const needs = QUESTIONS.get(method);
    if (client === null) this.#onStray();
    if (client === null || needs === undefined || !client.capabilities[needs])
      return Promise.reject(new UpstreamFault('answer', `nobody here answers ${method}`));
    return client.ask(method, this.#redactor.deep(params), signal);
  }

  tell(method: string, params: Json): void {
    const client = this.#listener();
    if (client === null) this.#onStray();
    else client.tell(method, this.#redactor.deep(params));
  }

  #listener(): ForwardedClient | null {
    return this.#busyFor.at(-1) ?? this.#latest;
  }
}
