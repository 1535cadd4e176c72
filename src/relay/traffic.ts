import { isUtf8 } from 'node:buffer';

type Id = string | number;

interface Message {
  id?: unknown;
  method?: unknown;
  params?: { name?: unknown; requestId?: unknown; _meta?: Record<string, unknown> };
}

/** What could not be had, in the words of whoever could not give it. */
export interface Trouble {
  code: string;
  /** `usage`: what was asked for cannot be. */
  kind?: string;
  message: string;
  suggestions?: string[];
}

/** Requests that build up a session: a new hub must hear them again, and the client must not hear the answer twice. */
const SESSION = new Set([
  'initialize',
  'notifications/initialized',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** Says that a stream of notifications has begun; what began is not answered until it ends. */
const LISTEN = 'subscriptions/listen';
const LISTENING = 'notifications/subscriptions/acknowledged';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

/** Asked again it is the same question, and its asker would take an error for an answer. */
const ASK = ['ask_user', 'ask_person'];

interface Request {
  method: string;
  line: Buffer;
  /** When it came, in milliseconds since 1970. */
  at: number;
  isListening?: true;
}

/** What passed between client and hub, as far as a new hub or a waiting client needs to know. */
export class Traffic {
  private session: Buffer[] = [];
  private readonly inFlight = new Map<Id, Request>();
  /** Tool calls whose hub is gone: each is answered here, once the next hub has said what they may have started. */
  private readonly lost = new Map<Id, Request>();
  /** Ids whose next answer is to a replayed line. */
  private readonly answered = new Set<Id>();
  private readonly afterLoss: string;
  /** A tool was called. What that began may still be there when it was answered or taken back. */
  hasCalled = false;

  /** `afterLoss`: what to do about a call whose hub was lost. */
  constructor(afterLoss = 'Runs go on: call list_running {"recent": true}, then get_result with the id.') {
    this.afterLoss = afterLoss;
  }

  /** How many requests the client still waits for. A stream of notifications is no such request. */
  get open(): number {
    let count = this.lost.size;
    for (const { method } of this.inFlight.values()) if (method !== LISTEN) count++;
    return count;
  }

  /** False for a line that neither the replay brings to a new hub nor a new hub can do without: it answers malformed ones. */
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

  /** False for a line the client must not see. */
  fromHub(line: Buffer): boolean {
    const message = longAnswer(line) ?? parse(line);
    if (message?.method === LISTENING) return this.isNewStream(message.params?._meta?.[SUBSCRIPTION] as Id);
    if (!isId(message?.id) || message.method !== undefined) return true;
    if (this.answered.delete(message.id)) return false;
    this.inFlight.delete(message.id);
    return true;
  }

  /** The lines that bring a new hub to where the old one was. Empty before anything was said. */
  replay(): Buffer[] {
    const lines = new Set(this.session);
    this.answered.clear();
    for (const line of this.session) {
      const id = parse(line)?.id;
      // An initialize still in flight is answered for the first time by the new hub.
      if (isId(id) && !this.inFlight.has(id)) this.answered.add(id);
    }
    for (const { line } of this.inFlight.values()) lines.add(line);
    return [...lines];
  }

  /**
   * The hub is gone. Questions are asked again of the next one; a tool call may have started something, so `answerLost`
   * answers it, with how to find what it started.
   */
  hubLost(): void {
    for (const [id, request] of this.inFlight) {
      if (request.method !== 'tools/call' || ASK.includes(String(parse(request.line)?.params?.name)))
        continue;
      this.inFlight.delete(id);
      this.lost.set(id, request);
    }
  }

  /** When the first tool call was made that is lost and not answered yet; null: there is none. */
  get lostSince(): number | null {
    return this.lost.size === 0 ? null : Math.min(...[...this.lost.values()].map(({ at }) => at));
  }

  /** `started`: runs that the next hub knows to have been started since; undefined: nobody could be asked. */
  answerLost(started?: string[]): string[] {
    const [first] = started ?? [];
    const found = first === undefined ? [] : [`Started in this workspace since: ${started!.join(', ')}.`];
    const trouble = {
      code: 'HUB_RESTARTED',
      message: 'the hub restarted while this call was waiting',
      suggestions: [...found, this.afterLoss],
    };
    return this.answer(this.lost, () => true, trouble);
  }

  /** No hub can be had. Whoever waits is told why; a stream of notifications waits for the next one. */
  refuse(trouble: Trouble): string[] {
    return this.answer(this.inFlight, method => method !== LISTEN, trouble);
  }

  /** False when the client knows this stream from an earlier hub. */
  private isNewStream(id: Id): boolean {
    const stream = this.inFlight.get(id);
    const isKnown = stream?.isListening === true;
    if (stream) stream.isListening = true;
    return !isKnown;
  }

  private answer(from: Map<Id, Request>, which: (method: string) => boolean, trouble: Trouble): string[] {
    const answers: string[] = [];
    const { code, message, suggestions = [] } = trouble;
    const text = [`${code}: ${message}`, ...suggestions].map(each => each.replace(/\.?$/, '.')).join(' ');
    const data = { code, ...(suggestions.length > 0 && { suggestions }) };
    for (const [id, { method, line }] of from) {
      if (!which(method)) continue;
      from.delete(id);
      // A handshake that was refused is none.
      this.session = this.session.filter(kept => kept !== line);
      const tool = method === 'tools/call' ? parse(line)?.params?.name : undefined;
      const error = { code: -32000, message: text, data: { ...data, tool_name: tool } };
      answers.push(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
    }
    return answers;
  }
}

/** As the hub has it: what it takes for no id gets an answer without one, which nobody could wait for. */
const isId = (id: unknown): id is Id => typeof id === 'string' || Number.isSafeInteger(id);

/** Null for what is no JSON object: the hub answers such a line, here it is only copied. */
function parse(line: Buffer): Message | null {
  if (!isUtf8(line)) return null;
  try {
    const value = JSON.parse(line.toString());
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** A list of very many tools is ten megabytes: to read it all only to know whose it is would double the client's wait. */
const LONG_BYTES = 64 * 1024;
const RESULT = Buffer.from('{"result":');
const WHOSE = /,"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+)\}\s*$/;
const WHOSE_BYTES = 300;

/** Whose a long answer is, by its end, where the hub writes it. Null for whatever looks otherwise. */
function longAnswer(line: Buffer): Message | null {
  if (line.length < LONG_BYTES || !line.subarray(0, RESULT.length).equals(RESULT)) return null;
  const id = WHOSE.exec(line.subarray(-WHOSE_BYTES).toString())?.[1];
  return id === undefined ? null : { id: JSON.parse(id) };
}
