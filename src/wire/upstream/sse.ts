import type { Readable } from 'node:stream';
import { tryParseJson } from '../../base/json.ts';
import { networkFault, readText, StatusFault, tooLarge, UnreachableFault } from './http-exchange.ts';
import { type HttpSession, isType } from './http-session.ts';
import { type Channel, cancelNotice, type Json, type LinkEvents, UpstreamFault } from './link.ts';
import type { Multiplexer } from './multiplexer.ts';

export interface SseEvent {
  /** `message` unless it says so. */
  type: string;
  data: string;
}

const LF = 10;
const CR = 13;
/** What a line costs beside its text. */
const LINE_COST = 8;

/** Server-sent events out of bytes. Holds no more than one event, and throws when that is over the limit. */
export class SseParser {
  lastEventId: string | null = null;
  retryMs: number | null = null;
  readonly #maxBytes: number;
  readonly #excess: typeof tooLarge;
  readonly #onEvent: (event: SseEvent) => void;
  #line: Buffer[] = [];
  #data: string[] = [];
  #type = '';
  #size = 0;
  #afterCr = false;
  #isFirst = true;

  constructor(maxBytes: number, onEvent: (event: SseEvent) => void, excess = tooLarge) {
    this.#excess = excess;
    this.#maxBytes = maxBytes;
    this.#onEvent = onEvent;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    let from = this.#afterCr && chunk[0] === LF ? 1 : 0;
    // Each is looked for only once it was passed, or a chunk full of one would be searched for the other again and again.
    let lf = chunk.indexOf(LF, from);
    let cr = chunk.indexOf(CR, from);
    while (lf >= 0 || cr >= 0) {
      const to = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf;
      this.#add(chunk.subarray(from, to));
      this.#finishLine();
      from = chunk[to] === CR && chunk[to + 1] === LF ? to + 2 : to + 1;
      if (lf >= 0 && lf < from) lf = chunk.indexOf(LF, from);
      if (cr >= 0 && cr < from) cr = chunk.indexOf(CR, from);
    }
    this.#add(chunk.subarray(from));
    // A line may end with both, and the second may be yet to come.
    this.#afterCr = chunk[chunk.length - 1] === CR;
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > this.#maxBytes) throw this.#excess(this.#maxBytes);
    this.#line.push(part);
  }

  #finishLine(): void {
    const [first] = this.#line;
    const bytes = this.#line.length === 1 && first ? first : Buffer.concat(this.#line);
    this.#line = [];
    let line = bytes.toString();
    if (this.#isFirst && line.startsWith('\uFEFF')) line = line.slice(1);
    this.#isFirst = false;
    if (line === '') this.#finishEvent();
    else if (this.#takeField(line)) this.#size += LINE_COST;
    // What says nothing takes no room.
    else this.#size -= bytes.length;
  }

  /** Whether something of it is kept until the end of the event. */
  #takeField(line: string): boolean {
    const colon = line.indexOf(':');
    if (colon === 0) return false;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#type = value;
    else if (name === 'id' && /^[\x20-\x7e]{0,1024}$/.test(value)) this.lastEventId = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    else return false;
    return true;
  }

  #finishEvent(): void {
    const type = this.#type || 'message';
    const data = this.#data.join('\n');
    const hasData = this.#data.length > 0 && data !== '';
    this.#data = [];
    this.#type = '';
    this.#size = 0;
    if (hasData) this.#onEvent({ type, data });
  }
}

interface SseChannelOptions {
  session: HttpSession;
  mux: Multiplexer;
  events: LinkEvents;
  maxFrameBytes: number;
  over: AbortSignal;
}

const MAX_REFUSAL_BYTES = 64 * 1024;

/** The HTTP of 2024: everything comes on one stream, whose first event says where to send to. Settles once that is known. */
export async function openSseChannel(options: SseChannelOptions): Promise<Channel> {
  const { session, mux, over } = options;
  const answer = await session.ask('GET', { headers: { accept: 'text/event-stream' }, signal: over });
  if (answer.status !== 200) {
    answer.body.destroy();
    throw new StatusFault(answer.status, answer.headers);
  }
  if (!isType(answer, 'text/event-stream')) {
    answer.body.destroy();
    throw new UpstreamFault('transport', 'The server answered with something that is no stream of events.');
  }
  const url = await endpointOf(options, answer.body);

  const channel: Channel = {
    async send(message) {
      const id = typeof message.method === 'string' && typeof message.id === 'number' ? message.id : null;
      try {
        await post(session, url, message, over);
      } catch (error) {
        const fault = networkFault(error, session.url.host);
        if (id !== null) mux.fail(id, fault);
        if (fault instanceof UnreachableFault || (fault instanceof StatusFault && fault.status === 401))
          mux.end(fault);
      }
    },
    cancel(id, reason) {
      void channel.send(cancelNotice(id, reason));
    },
  };
  return channel;
}

async function post(session: HttpSession, url: URL, message: Json, signal: AbortSignal): Promise<void> {
  const answer = await session.ask('POST', {
    url,
    body: JSON.stringify(message),
    headers: { accept: 'application/json, text/event-stream' },
    signal,
  });
  await readText(answer.body, MAX_REFUSAL_BYTES).catch(() => {});
  if (answer.status < 200 || answer.status > 299) throw new StatusFault(answer.status, answer.headers);
}

/** Reads the stream for as long as it lasts; the link lasts no longer. */
function endpointOf(options: SseChannelOptions, body: NodeJS.ReadableStream): Promise<URL> {
  const { mux, session, events, maxFrameBytes } = options;
  return new Promise((resolve, reject) => {
    let isKnown = false;
    const parser = new SseParser(maxFrameBytes, ({ type, data }) => {
      const message = type === 'message' ? tryParseJson(data) : undefined;
      if (type === 'endpoint' && !isKnown) {
        isKnown = true;
        resolve(endpoint(session.url, data));
      } else if (message === undefined) events.onStray();
      else mux.receive(message);
    });
    const read = async () => {
      for await (const chunk of body as AsyncIterable<Buffer>) parser.push(chunk);
    };
    read()
      .catch(error => networkFault(error, session.url.host))
      .then(fault => fault ?? new UpstreamFault('transport', 'The server ended the stream of events.'))
      .then(fault => {
        reject(fault);
        mux.end(fault);
      });
  });
}

function endpoint(from: URL, data: string): URL {
  const url = URL.canParse(data, from.href) ? new URL(data, from) : null;
  if (url?.origin === from.origin) return url;
  throw new UpstreamFault('transport', 'The server wants its messages sent to another host.');
}

/** How far a stream was read, for asking for the rest of it. */
export interface StreamPosition {
  lastEventId: string | null;
  retryMs: number | null;
}

interface MessageStreamOptions {
  mux: Multiplexer;
  events: LinkEvents;
  maxFrameBytes: number;
  position: StreamPosition;
  /** Nothing more is expected. */
  isDone(): boolean;
  onMessage?: ((message: unknown) => void) | undefined;
  /** What a message over the limit is; a fault of the connection unless it says so. */
  excess?: (maxBytes: number) => UpstreamFault;
}

/** A server may have to close a stream that is done; one that goes on talking is cut off. */
const AFTERWORD_MS = 1000;

/** Reads messages to the end of the stream, also a sudden one. Rejects only for what no server should send. */
export async function readMessages(body: Readable, options: MessageStreamOptions): Promise<void> {
  const { mux, events, position, isDone, onMessage } = options;
  const parser = new SseParser(
    options.maxFrameBytes,
    ({ type, data }) => {
      const message = type === 'message' ? tryParseJson(data) : undefined;
      if (message === undefined) {
        events.onStray();
        return;
      }
      onMessage?.(message);
      mux.receive(message);
    },
    options.excess,
  );
  let timer: NodeJS.Timeout | undefined;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (!isDone()) parser.push(chunk);
      position.lastEventId = parser.lastEventId ?? position.lastEventId;
      position.retryMs = parser.retryMs ?? position.retryMs;
      if (isDone()) timer ??= setTimeout(() => body.destroy(), AFTERWORD_MS);
    }
  } catch (error) {
    if (error instanceof UpstreamFault) throw error;
    // It broke off. Whoever waits for an answer sees that there was none.
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}
