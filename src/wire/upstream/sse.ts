import type { Readable } from 'node:stream';
import { tryParseJson } from '../../base/json.ts';
import {
  type HttpSession,
  isType,
  networkFault,
  readText,
  StatusFault,
  tooLarge,
  UnreachableFault,
} from './http-session.ts';
import { type Channel, cancelNotice, type Json, type LinkEvents, UpstreamFault } from './link.ts';
import type { Multiplexer } from './multiplexer.ts';

export interface SseEvent {
  /** Type of the event (default: `message`). */
  type: string;
  data: string;
}

const LF = 10;
const CR = 13;
/** Estimated memory of a line in addition to its text. */
const LINE_COST = 8;

/**
 * Parses server-sent events from bytes. Buffers at most one event, and throws when that exceeds the limit.
 * `eventsource-parser` is not used, because it counts only the text of `data`, needs quadratic time for a chunk of LF
 * lines with one CR, and delays an event that ends with CR until the next chunk.
 */
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
    // Positions of the next LF and the next CR. Each position is searched again only after it was passed. Otherwise a
    // chunk with only LFs would be searched for a CR at every line.
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
    // The LF of a CRLF may arrive with the next chunk.
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
    // Ignored lines do not count towards the limit.
    else this.#size -= bytes.length;
  }

  /** Parses one line. Returns whether it is part of the event. */
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

/** Options of both HTTP transports. */
export interface HttpChannelOptions {
  session: HttpSession;
  mux: Multiplexer;
  events: LinkEvents;
  maxFrameBytes: number;
  /** Aborted when the link ends. */
  over: AbortSignal;
}

export const ACCEPT = 'application/json, text/event-stream';
/** Maximum number of bytes read of an error response, or of a response that should be empty. */
export const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * The HTTP+SSE transport of 2024: messages arrive on one stream, whose first event names the endpoint for requests.
 * Resolves once the endpoint is known.
 */
export async function openSseChannel(options: HttpChannelOptions): Promise<Channel> {
  const { session, mux, over } = options;
  const answer = await session.ask('GET', { headers: { accept: 'text/event-stream' }, signal: over });
  if (answer.status !== 200) {
    answer.body.destroy();
    throw new StatusFault(answer.status, answer.headers);
  }
  if (!isType(answer, 'text/event-stream')) {
    answer.body.destroy();
    throw new UpstreamFault('transport', 'The server answered with something other than an event stream.');
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
    headers: { accept: ACCEPT },
    signal,
  });
  await readText(answer.body, MAX_REFUSAL_BYTES).catch(() => {});
  if (answer.status < 200 || answer.status > 299) throw new StatusFault(answer.status, answer.headers);
}

/** Reads the stream to its end. Then the link ends. */
function endpointOf(options: HttpChannelOptions, body: NodeJS.ReadableStream): Promise<URL> {
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
  throw new UpstreamFault('transport', 'The server names an endpoint at another host.');
}

/** Position in a stream, for resuming it. */
export interface StreamPosition {
  lastEventId: string | null;
  retryMs: number | null;
}

interface MessageStreamOptions extends Pick<HttpChannelOptions, 'mux' | 'events' | 'maxFrameBytes'> {
  position: StreamPosition;
  /** True if no further message is expected. */
  isDone(): boolean;
  onMessage?: ((message: unknown) => void) | undefined;
  /** Creates the fault for a message over the limit. Default: a fault of the connection. */
  excess?: (maxBytes: number) => UpstreamFault;
}

/** Timeout for the server to close a stream after its last message. */
const CLOSE_TIMEOUT_MS = 1000;

/** Reads messages until the stream ends or breaks. Rejects only if the stream is invalid. */
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
      if (isDone()) timer ??= setTimeout(() => body.destroy(), CLOSE_TIMEOUT_MS);
    }
  } catch (error) {
    if (error instanceof UpstreamFault) throw error;
    // A broken stream is no fault here: open requests fail because they get no answer.
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}
