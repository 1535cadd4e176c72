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
import { ModelFailure, type Quote } from './ending.ts';
import type { KeptFiles } from './kept-files.ts';
import { MAX_ANSWERED, MAX_EVENT_LENGTH, MAX_EVENTS } from './output-lines.ts';
import { answerWithoutEvents, ResponseStart, readRest, refusedAnswer } from './provider-response.ts';

/** An answer on its way to the SDK, as long as it keeps within bounds. The SDK itself would take in whatever comes. */
async function* watchedEvents(
  answer: IncomingMessage,
  heard: ResponseStatus,
  signal: AbortSignal | null,
  quote: Quote,
): AsyncGenerator<Buffer> {
  const events = new EventCount();
  const { beginning } = heard;
  // Some servers send events and call them something else.
  let areEvents = isEventStream(answer);
  try {
    for await (const chunk of answer.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      heard.bytes += chunk.length;
      beginning.add(chunk);
      events.take(chunk);
      if (heard.bytes > MAX_ANSWERED) throw tooMuch(`more than ${formatBytes(MAX_ANSWERED)}`);
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
    if (!areEvents || heard.bytes === 0)
      throw answerWithoutEvents(answer, await readRest(answer, beginning), quote);
  } catch (thrown) {
    signal?.throwIfAborted();
    if (thrown instanceof ModelFailure) throw thrown;
    throw new ModelFailure(
      'ENGINE_FAILED',
      `answered ${heard.status} and broke off before the end of its answer, after ${formatBytes(heard.bytes)}: the connection was closed (${(thrown as Error).message}).`,
    );
  } finally {
    answer.destroy();
  }
}

const isEventStream = ({ headers }: IncomingMessage): boolean =>
  /^text\/event-stream\b/i.test(headers['content-type'] ?? '');

/** With one of these every line of events begins. */
const FIELDS = ['data:', 'event:', 'id:', 'retry:', ':'];
const beginsWithField = (text: string): boolean => FIELDS.some(field => text.trimStart().startsWith(field));
const mayBecomeField = (text: string): boolean => FIELDS.some(field => field.startsWith(text.trimStart()));

const tooMuch = (what: string): ModelFailure =>
  new ModelFailure(
    'OUTPUT_LIMIT',
    `was cut off: it sent ${what}, which is the limit of one answer. Ask for less at once; if it does so whatever it is asked, look at what answers at that address.`,
  );

class EventCount {
  count = 0;
  /** How long the one is that has not ended yet: whoever reads it keeps it until it does. */
  open = 0;
  /** What may be the beginning of an end. */
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

/** A body that is made while it is sent. */
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
 * One request on a connection of its own, with no limit on how long an answer may take: a model may think, and a tool may
 * work, for an hour. A connection that is kept could be closed at the other end just as it is used again, and nothing is
 * asked twice here.
 */
export function sendRequest(url: URL, { method, headers, body, signal }: Outgoing): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  const isMade = typeof body === 'object' && body !== null;
  const options = {
    ...{ method, agent: agentFor(isSecure), ...(signal && { signal }) },
    // Not every server takes a body of unknown length.
    headers: isMade ? { ...headers, 'content-length': String(body.bytes) } : headers,
  };
  return new Promise((resolve, reject) => {
    const request = isSecure ? secureRequest(url, options, resolve) : plainRequest(url, options, resolve);
    request.on('error', error => reject(signal?.aborted ? signal.reason : error));
    if (isMade) sendPieces(request, body);
    else request.end(body ?? undefined);
  });
}

function sendPieces(request: ClientRequest, body: Pieces): void {
  const pieces = Readable.from(body.pieces());
  pieces.on('error', error => request.destroy(error));
  request.on('close', () => pieces.destroy());
  pieces.pipe(request);
}

/** A proxy is used where Node itself would use one. */
function agentFor(isSecure: boolean): PlainAgent {
  const proxy = process.env.NODE_USE_ENV_PROXY === '1' ? { proxyEnv: process.env } : {};
  return isSecure
    ? new SecureAgent({ keepAlive: false, ...proxy })
    : new PlainAgent({ keepAlive: false, ...proxy });
}

export async function wholeText(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Stands for the key where none is to be sent: the providers insist on one. No header of anybody's is the same. */
export const NO_KEY = `no-key-${randomUUID()}`;

/** What has come back so far. */
export interface ResponseStatus {
  status: number;
  bytes: number;
  beginning: ResponseStart;
}

/** Where a model is asked, for one conversation. */
export interface ProviderLine {
  /** What stands behind the `?` of its address, or nothing: the providers know only a path. */
  query: string;
  files: KeptFiles;
  quote: Quote;
  /** Of the latest request; null before there is an answer. */
  heard: ResponseStatus | null;
}

/**
 * `fetch` for the providers: without its own limits on how long a model may be silent, and with limits on what may come back.
 * What is no stream of events never gets to the SDK, whose words for it are for programmers.
 */
export const providerFetch =
  (line: ProviderLine): typeof fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    url.search = [line.query, url.search.slice(1)].filter(Boolean).join('&');
    const { body = null, signal = null, method = 'GET' } = init ?? {};
    if (body !== null && typeof body !== 'string') throw new Error('A request to a model has a body of text');
    line.heard = null;
    const answer = await asked(url, {
      ...{ method, signal, headers: keysOf(init?.headers) },
      body: body && line.files.filled(body),
    });
    const { statusCode: status = 0 } = answer;
    const heard: ResponseStatus = { status, bytes: 0, beginning: new ResponseStart() };
    line.heard = heard;
    if (status < 200 || status >= 300) throw await refusedAnswer(answer, line.quote);
    const events = Readable.from(watchedEvents(answer, heard, signal, line.quote), { objectMode: false });
    return new Response(Readable.toWeb(events) as ReadableStream<Uint8Array>);
  };

async function asked(url: URL, outgoing: Outgoing): Promise<IncomingMessage> {
  try {
    return await sendRequest(url, outgoing);
  } catch (thrown) {
    outgoing.signal?.throwIfAborted();
    throw new ModelFailure('ENGINE_FAILED', `could not be asked: ${(thrown as Error).message}`);
  }
}

const keysOf = (given: RequestInit['headers']): Record<string, string> =>
  Object.fromEntries([...new Headers(given)].filter(([, value]) => !value.endsWith(NO_KEY)));
