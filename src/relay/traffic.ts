import { isUtf8 } from 'node:buffer';
import { isObject, tryParseJson } from '../base/json.ts';

type Id = string | number;

interface Message {
  id?: unknown;
  method?: unknown;
  params?: { name?: unknown; requestId?: unknown; _meta?: Record<string, unknown> };
}

/** Why a request cannot be served. */
export interface RelayError {
  code: string;
  /** Kind of the error. `usage` means that the request itself is invalid. */
  kind?: string;
  message: string;
  suggestions?: string[];
}

/** Requests that establish a session. The relay repeats them to a new hub and drops the second answer. */
const SESSION = new Set([
  'initialize',
  'notifications/initialized',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** A stream of notifications: `LISTENING` reports its start, and the request is answered when the stream ends. */
const LISTEN = 'subscriptions/listen';
const LISTENING = 'notifications/subscriptions/acknowledged';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

/** Tools that are safe to call again: the question is the same, and an agent would take an error for an answer. */
const ASK = ['ask_user', 'ask_person'];

interface Request {
  method: string;
  line: Buffer;
  /** Time of the request in milliseconds since 1970. */
  at: number;
  isListening?: true;
}

/** The messages between client and hub that a new hub or a waiting client may need. */
export class Traffic {
  private session: Buffer[] = [];
  private readonly inFlight = new Map<Id, Request>();
  /**
   * Tool calls whose hub is lost. The relay answers them once the next hub has named the runs that they may have
   * started.
   */
  private readonly lost = new Map<Id, Request>();
  /** Ids of replayed requests that were already answered. The client must not get their second answer. */
  private readonly answered = new Set<Id>();
  private readonly afterLoss: string;
  /** True once a tool was called. Runs that a call started may outlive its answer or cancellation. */
  hasCalled = false;

  /** `afterLoss` is a suggestion for a call whose hub was lost. */
  constructor(
    afterLoss = 'Runs keep running: call list_running {"recent": true}, then get_result with the id.',
  ) {
    this.afterLoss = afterLoss;
  }

  /** Number of unanswered requests, without streams of notifications. */
  get open(): number {
    let count = this.lost.size;
    for (const { method } of this.inFlight.values()) if (method !== LISTEN) count++;
    return count;
  }

  /**
   * Handles a line of the client. Returns false for a malformed line, which is not replayed, so a new hub has to
   * answer it.
   */
  fromClient(line: Buffer): boolean {
    const message = parse(line);
    if (!message) return line.toString().trim() === '';
    const { id, method, params } = message;
    if (typeof method !== 'string') return 'result' in message || 'error' in message;
    if (method === 'initialize') this.session = [];
    if (SESSION.has(method)) this.session.push(line);
    if (method === 'notifications/cancelled')
      for (const map of [this.inFlight, this.lost]) map.delete(params?.requestId as Id);
    if (id === undefined) return true;
    if (!isId(id)) return false;
    if (method === 'tools/call') this.hasCalled = true;
    this.inFlight.set(id, { method, line, at: Date.now() });
    return true;
  }

  /** Handles a line of the hub. Returns false if the client must not get the line. */
  fromHub(line: Buffer): boolean {
    const message = longAnswer(line) ?? parse(line);
    if (message?.method === LISTENING) return this.isNewStream(message.params?._meta?.[SUBSCRIPTION] as Id);
    if (!isId(message?.id) || message.method !== undefined) return true;
    if (this.answered.delete(message.id)) return false;
    this.inFlight.delete(message.id);
    return true;
  }

  /** Lines that bring a new hub to the state of the old one. */
  replay(): Buffer[] {
    const lines = new Set(this.session);
    this.answered.clear();
    for (const line of this.session) {
      const id = parse(line)?.id;
      // The client must not get a second answer. An `initialize` without an answer gets its first one from the new
      // hub.
      if (isId(id) && !this.inFlight.has(id)) this.answered.add(id);
    }
    for (const { line } of this.inFlight.values()) lines.add(line);
    return [...lines];
  }

  /**
   * Called when the hub is lost. The next hub gets the requests again, except for tool calls: a tool call may have
   * started runs, so `answerLost` answers it and says how to find them.
   */
  hubLost(): void {
    for (const [id, request] of this.inFlight) {
      if (request.method !== 'tools/call' || ASK.includes(String(parse(request.line)?.params?.name)))
        continue;
      this.inFlight.delete(id);
      this.lost.set(id, request);
    }
  }

  /** Time of the first lost tool call without an answer. Null if there is none. */
  get lostSince(): number | null {
    return this.lost.size === 0 ? null : Math.min(...[...this.lost.values()].map(({ at }) => at));
  }

  /**
   * Answers calls that were lost with their hub. `started` lists runs that were started since then, according to the
   * next hub. It is undefined if no hub could be asked.
   */
  answerLost(started?: string[]): string[] {
    const [first] = started ?? [];
    const found = first === undefined ? [] : [`Started in this workspace since: ${started!.join(', ')}.`];
    const error = {
      code: 'HUB_RESTARTED',
      message: 'the hub restarted while this call was waiting',
      suggestions: [...found, this.afterLoss],
    };
    return this.answer(this.lost, () => true, error);
  }

  /** Answers every open request with this error. Streams of notifications wait for the next hub. */
  refuse(error: RelayError): string[] {
    return this.answer(this.inFlight, method => method !== LISTEN, error);
  }

  /** False when an earlier hub has already announced this stream. */
  private isNewStream(id: Id): boolean {
    const stream = this.inFlight.get(id);
    const isKnown = stream?.isListening === true;
    if (stream) stream.isListening = true;
    return !isKnown;
  }

  private answer(from: Map<Id, Request>, which: (method: string) => boolean, error: RelayError): string[] {
    const answers: string[] = [];
    const { code, message, suggestions = [] } = error;
    const text = [`${code}: ${message}`, ...suggestions].map(each => each.replace(/\.?$/, '.')).join(' ');
    const data = { code, ...(suggestions.length > 0 && { suggestions }) };
    for (const [id, { method, line }] of from) {
      if (!which(method)) continue;
      from.delete(id);
      // A refused handshake is not replayed.
      this.session = this.session.filter(kept => kept !== line);
      const tool = method === 'tools/call' ? parse(line)?.params?.name : undefined;
      const error = { code: -32000, message: text, data: { ...data, tool_name: tool } };
      answers.push(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
    }
    return answers;
  }
}

/**
 * Whether a value can be the id of a request: a string or a whole number. The hub answers requests with other ids
 * without an id, so no client can wait for such an answer.
 */
const isId = (id: unknown): id is Id => typeof id === 'string' || Number.isSafeInteger(id);

/** Null for a line that is not a JSON object: the relay only copies that line, and the hub answers it. */
function parse(line: Buffer): Message | null {
  const value = isUtf8(line) ? tryParseJson(line.toString()) : null;
  return isObject(value) ? value : null;
}

/**
 * Longer answers are not parsed: a list of very many tools can have ten megabytes, and parsing it only for its id would
 * double the wait.
 */
const LONG_BYTES = 64 * 1024;
const RESULT = Buffer.from('{"result":');
const ID_AT_END = /,"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+)\}\s*$/;
const ID_BYTES = 300;

/** The id of a long answer, from its end, where the hub writes it. Null if it is not there. */
function longAnswer(line: Buffer): Message | null {
  if (line.length < LONG_BYTES || !line.subarray(0, RESULT.length).equals(RESULT)) return null;
  const id = ID_AT_END.exec(line.subarray(-ID_BYTES).toString())?.[1];
  return id === undefined ? null : { id: JSON.parse(id) };
}
