import type { Redactor } from '../core/gateway/redaction.ts';
import type { ForwardedClient } from '../core/ports/gateway.ts';
import { type Json, UpstreamFault } from '../wire/upstream/link.ts';

/** What a server may ask a client, and what the client must have said it can. */
const QUESTIONS = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

/** Answers a server's form when the client of its call cannot. */
export type AskPerson = (params: Json, signal: AbortSignal) => Promise<Json>;

interface Busy {
  client: ForwardedClient | null;
  over: AbortController;
}

/** Questions and log messages of a server that one run has to itself, brought to the client whose call it is busy with. */
export class ServerQuestions {
  readonly #redactor: Redactor;
  readonly #onStray: () => void;
  readonly #askPerson: AskPerson | null;
  readonly #busyFor: Busy[] = [];
  #latest: ForwardedClient | null = null;

  constructor(redactor: Redactor, onStray: () => void, askPerson: AskPerson | null) {
    this.#redactor = redactor;
    this.#onStray = onStray;
    this.#askPerson = askPerson;
  }

  async during<T>(client: ForwardedClient | null, call: () => Promise<T>): Promise<T> {
    const busy = { client, over: new AbortController() };
    this.#busyFor.push(busy);
    this.#latest = client ?? this.#latest;
    try {
      return await call();
    } finally {
      busy.over.abort();
      this.#busyFor.splice(this.#busyFor.lastIndexOf(busy), 1);
    }
  }

  async ask(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    const client = this.#listener();
    const needs = QUESTIONS.get(method);
    if (client !== null && needs !== undefined && client.capabilities[needs])
      return await client.ask(method, this.#redactor.deep(params), signal);
    const busy = this.#busyFor.at(-1);
    // A person is asked only for a call that is under way: nobody else could say what it is about.
    if (method === 'elicitation/create' && busy !== undefined && this.#askPerson !== null)
      return await this.#askPerson(this.#redactor.deep(params), AbortSignal.any([signal, busy.over.signal]));
    if (client === null) this.#onStray();
    throw new UpstreamFault('answer', `nobody here answers ${method}`);
  }

  tell(method: string, params: Json): void {
    const client = this.#listener();
    if (client === null) this.#onStray();
    else client.tell(method, this.#redactor.deep(params));
  }

  #listener(): ForwardedClient | null {
    return this.#busyFor.findLast(({ client }) => client !== null)?.client ?? this.#latest;
  }
}
