import { isObject } from '../../base/json.ts';
import type { ForwardedClient } from '../../core/ports/gateway.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { type Json, UpstreamFault } from '../../wire/upstream/link.ts';

/** Requests that a server may send to a client, each with the capability that the client must have declared. */
const QUESTIONS = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

/** Answers a form of a server when the client of the call cannot. */
type AskPerson = (params: Json, signal: AbortSignal) => Promise<Json>;

/** Maximum number of questions during one call; a server that asks more makes no progress. */
const MAX_ROUNDS = 8;
const NEVER = new AbortController().signal;

/** The forms that a result requests. Null if it requests something else or nothing. */
function formsIn({ resultType, inputRequests }: Json): [string, Json][] | null {
  if (resultType !== 'input_required' || !isObject(inputRequests)) return null;
  const forms = Object.entries(inputRequests).map(([key, request]): [string, Json] | null => {
    const { method, params } = isObject(request) ? request : {};
    return method === 'elicitation/create' && isObject(params) ? [key, params] : null;
  });
  return forms.length > 0 && forms.every(form => form !== null) ? forms : null;
}

interface ActiveCall {
  client: ForwardedClient | null;
  over: AbortController;
}

/** Forwards questions and log messages of a run's own server to the client whose call the server is handling. */
export class ServerQuestions {
  readonly #redactor: Redactor;
  readonly #onStray: () => void;
  readonly #askPerson: AskPerson | null;
  readonly #calls: ActiveCall[] = [];
  #latest: ForwardedClient | null = null;

  constructor(redactor: Redactor, onStray: () => void, askPerson: AskPerson | null) {
    this.#redactor = redactor;
    this.#onStray = onStray;
    this.#askPerson = askPerson;
  }

  async during<T>(client: ForwardedClient | null, call: () => Promise<T>): Promise<T> {
    const active = { client, over: new AbortController() };
    this.#calls.push(active);
    this.#latest = client ?? this.#latest;
    try {
      return await call();
    } finally {
      active.over.abort();
      this.#calls.splice(this.#calls.lastIndexOf(active), 1);
    }
  }

  async ask(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    const client = this.#listener();
    const needs = QUESTIONS.get(method);
    if (client !== null && needs !== undefined && client.capabilities[needs])
      return await client.ask(method, this.#redactor.deep(params), signal);
    const active = this.#calls.at(-1);
    // A person is asked only during a call, because without a call nobody knows what the question is about.
    if (method === 'elicitation/create' && active !== undefined && this.#askPerson !== null)
      return await this.#askPerson(
        this.#redactor.deep(params),
        AbortSignal.any([signal, active.over.signal]),
      );
    if (client === null) this.#onStray();
    throw new UpstreamFault('answer', `nobody here answers ${method}`);
  }

  /**
   * Capabilities declared to the server: those of the client, plus forms if a person can answer them instead of the
   * client.
   */
  capabilitiesFor(client: ForwardedClient | null, declared: Json | undefined): Json | undefined {
    const canAsk = declared?.elicitation !== undefined || client?.capabilities.elicitation !== undefined;
    return this.#askPerson === null || canAsk ? declared : { ...declared, elicitation: {} };
  }

  /**
   * Returns the result after a person has answered the forms that the server requested first. A client that supports
   * forms gets them itself.
   */
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
    return this.#calls.findLast(({ client }) => client !== null)?.client ?? this.#latest;
  }
}
