import { randomUUID } from 'node:crypto';
import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { Readable } from 'node:stream';
import { formatBytes } from '../base/text.ts';
import { ModelError, type Quote } from './agent-error.ts';
import type { ChatFiles } from './chat-files.ts';
import { MAX_EVENT_LENGTH, MAX_EVENTS, MAX_RESPONSE_BYTES } from './output-lines.ts';
import { answerWithoutEvents, ResponseStart, readRest, refusedAnswer } from './provider-response.ts';

/** Passes a response on to the SDK and enforces size limits, which the SDK does not have. */
async function* watchedEvents(
  answer: IncomingMessage,
  received: ResponseStatus,
  signal: AbortSignal | null,
  quote: Quote,
): AsyncGenerator<Buffer> {
  const events = new EventCount();
  const { beginning } = received;
  // Some servers send events with another content type.
  let areEvents = isEventStream(answer);
  try {
    for await (const chunk of answer.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received.bytes += chunk.length;
      beginning.add(chunk);
      events.take(chunk);
      if (received.bytes > MAX_RESPONSE_BYTES) throw tooMuch(`more than ${formatBytes(MAX_RESPONSE_BYTES)}`);
      if (events.count > MAX_EVENTS) throw tooMuch(`more than ${MAX_EVENTS.toLocaleString('en')} events`);
      if (events.open > MAX_EVENT_LENGTH)
        throw tooMuch(`an event of more than ${formatBytes(MAX_EVENT_LENGTH)}`);
      if (areEvents) {
        yield chunk;
        continue;
      }
      areEvents = beginsWithField(beginning.text);
      if (areEvents) yield beginning.bytes;
      else if (beginning.isFull || !mayBecomeField(beginning.text)) break;
    }
    if (!areEvents || received.bytes === 0)
      throw answerWithoutEvents(answer, await readRest(answer, beginning), quote);
  } catch (thrown) {
    signal?.throwIfAborted();
    if (thrown instanceof ModelError) throw thrown;
    throw new ModelError(
      'ENGINE_FAILED',
      `answered ${received.status}, but the response ended early, after ${formatBytes(received.bytes)}: the connection was closed (${(thrown as Error).message}).`,
    );
  } finally {
    answer.destroy();
  }
}

const isEventStream = ({ headers }: IncomingMessage): boolean =>
  /^text\/event-stream\b/i.test(headers['content-type'] ?? '');

/** Field names of an event stream. Every line of the stream starts with one of them. */
const FIELDS = ['data:', 'event:', 'id:', 'retry:', ':'];
const beginsWithField = (text: string): boolean => FIELDS.some(field => text.trimStart().startsWith(field));
const mayBecomeField = (text: string): boolean => FIELDS.some(field => field.startsWith(text.trimStart()));

const tooMuch = (what: string): ModelError =>
  new ModelError(
    'OUTPUT_LIMIT',
    `was stopped: it sent ${what}, which is the limit for one answer. Ask for less at once. If this happens with every request, check the server at this address.`,
  );

class EventCount {
  count = 0;
  /** Length of the unfinished event. The SDK keeps it in memory until it is complete. */
  open = 0;
  /** The last characters, which may be the beginning of the blank line that ends an event. */
  #tail = '';

  take(chunk: Buffer): void {
    const seen = this.#tail + chunk.toString('latin1');
    let end = -1;
    for (const { index, 0: mark } of seen.matchAll(EVENT_END)) {
      this.count++;
      end = index + mark.length;
    }
    this.open = end === -1 ? this.open + chunk.length : seen.length - end;
    this.#tail = seen.slice(Math.max(end, seen.length - 3, 0));
  }
}

const EVENT_END = /\r?\n\r?\n|\r\r/g;

/** A request body that is generated while it is sent. */
export interface Pieces {
  bytes: number;
  pieces(): AsyncIterable<string>;
}

interface Outgoing {
  method: string;
  headers: Record<string, string>;
  body: string | Pieces | null;
  signal: AbortSignal | null;
}

/**
 * Sends one request on its own connection, without a timeout: a model may think, and a tool may run, for an hour.
 * Connections are not reused: the server may close one at the moment a request is sent on it, and requests are never
 * sent twice.
 */
export function sendRequest(url: URL, { method, headers, body, signal }: Outgoing): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  const isGenerated = typeof body === 'object' && body !== null;
  const options = {
    ...{ method, agent: agentFor(isSecure), ...(signal && { signal }) },
    // Some servers reject a body of unknown length.
    headers: isGenerated ? { ...headers, 'content-length': String(body.bytes) } : headers,
  };
  return new Promise((resolve, reject) => {
    const request = isSecure ? secureRequest(url, options, resolve) : plainRequest(url, options, resolve);
    request.on('error', error => reject(signal?.aborted ? signal.reason : error));
    if (isGenerated) sendPieces(request, body);
    else request.end(body ?? undefined);
  });
}

function sendPieces(request: ClientRequest, body: Pieces): void {
  const pieces = Readable.from(body.pieces());
  pieces.on('error', error => request.destroy(error));
  request.on('close', () => pieces.destroy());
  pieces.pipe(request);
}

/** Uses a proxy under the same conditions as Node's own `fetch`. */
function agentFor(isSecure: boolean): PlainAgent {
  const proxy = process.env.NODE_USE_ENV_PROXY === '1' ? { proxyEnv: process.env } : {};
  return isSecure
    ? new SecureAgent({ keepAlive: false, ...proxy })
    : new PlainAgent({ keepAlive: false, ...proxy });
}

/**
 * Placeholder for a missing key, because the SDK's providers need one. Random, so that no real header is mistaken for
 * the placeholder and removed.
 */
export const NO_KEY = `no-key-${randomUUID()}`;

/** Status of a response, and the part of its body that has arrived so far. */
export interface ResponseStatus {
  status: number;
  bytes: number;
  beginning: ResponseStart;
}

/** State of the requests of one conversation. */
export interface ProviderContext {
  /** Query string of the model's address, added to every request: the SDK's providers drop it. */
  query: string;
  files: ChatFiles;
  quote: Quote;
  /** Status of the latest request. Null before a response arrives. */
  received: ResponseStatus | null;
}

/**
 * `fetch` for the SDK's providers, without the timeouts of the built-in `fetch` but with size limits. Responses that are not event
 * streams never reach the SDK, whose messages about them are meant for programmers.
 */
export const providerFetch =
  (context: ProviderContext): typeof fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    url.search = [context.query, url.search.slice(1)].filter(Boolean).join('&');
    const { body = null, signal = null, method = 'GET' } = init ?? {};
    if (body !== null && typeof body !== 'string')
      throw new Error('Requests to a model must have a text body');
    context.received = null;
    const answer = await asked(url, {
      ...{ method, signal, headers: keysOf(init?.headers) },
      body: body && context.files.withContents(body),
    });
    const { statusCode: status = 0 } = answer;
    const received: ResponseStatus = { status, bytes: 0, beginning: new ResponseStart() };
    context.received = received;
    if (status < 200 || status >= 300) throw await refusedAnswer(answer, context.quote);
    const events = Readable.from(watchedEvents(answer, received, signal, context.quote), {
      objectMode: false,
    });
    return new Response(Readable.toWeb(events) as ReadableStream<Uint8Array>);
  };

async function asked(url: URL, outgoing: Outgoing): Promise<IncomingMessage> {
  try {
    return await sendRequest(url, outgoing);
  } catch (thrown) {
    outgoing.signal?.throwIfAborted();
    throw new ModelError('ENGINE_FAILED', `could not be reached: ${(thrown as Error).message}`);
  }
}

const keysOf = (given: RequestInit['headers']): Record<string, string> =>
  Object.fromEntries([...new Headers(given)].filter(([, value]) => !value.endsWith(NO_KEY)));
