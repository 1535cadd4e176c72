import type { ForwardedClient } from '../../core/ports/gateway.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { type Json, UpstreamFault } from '../../wire/upstream/link.ts';

/** What a server may ask a client, and what the client must have said it can. */
const QUESTIONS = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

/** Answers a server's form when the client of its call cannot. */
export type AskPerson = (params: Json, signal: AbortSignal) => Promise<Json>;

/** A server that asks more often than this is not getting on. */
const MAX_ROUNDS = 8;
const NEVER = new AbortController().signal;

/** What a result asks for, where that is nothing but forms. */
function formsIn({ resultType, inputRequests }: Json): [string, Json][] | null {
  if (resultType !== 'input_required' || !isObject(inputRequests)) return null;
  const forms = Object.entries(inputRequests).map(([key, request]): [string, Json] | null => {
    const { method, params } = isObject(request) ? request : {};
    return method === 'elicitation/create' && isObject(params) ? [key, params] : null;
  });
  return forms.length > 0 && forms.every(form => form !== null) ? forms : null;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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

  /** What a client can be asked by way of the answer, with a person in the place of one that asks nobody. */
  capabilitiesFor(client: ForwardedClient | null, declared: Json | undefined): Json | undefined {
    const canAsk = declared?.elicitation !== undefined || client?.capabilities.elicitation !== undefined;
    return this.#askPerson === null || canAsk ? declared : { ...declared, elicitation: {} };
  }

  /** The result, after a person has answered what the server asked for first. What the client can be asked goes on to it. */
  async answered(
    request: (params: Json) => Promise<Json>,
    params: Json,
    declared: Json | undefined,
  ): Promise<Json> {
    let result = await request(params);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const forms = declared?.elicitation === undefined ? formsIn(result) : null;
      if (forms === null) return result;
      const answers = forms.map(async ([key, form]) => [
        key,
        await this.ask('elicitation/create', form, NEVER),
      ]);
      const inputResponses = Object.fromEntries(await Promise.all(answers));
      const { requestState } = result;
      result = await request({
        ...params,
        inputResponses,
        ...(requestState !== undefined && { requestState }),
      });
    }
    return result;
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
