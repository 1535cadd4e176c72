import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { watchedEvents } from './answer-events.ts';
import { Beginning } from './beginning.ts';
import { ModelFailure } from './ending.ts';
import type { KeptFiles } from './kept-files.ts';
import type { Quote } from './quote.ts';
import { refusedAnswer } from './refused-answer.ts';
import { type Outgoing, sendRequest } from './send-request.ts';

/** Stands for the key where none is to be sent: the providers insist on one. No header of anybody's is the same. */
export const NO_KEY = `no-key-${randomUUID()}`;

/** What has come back so far. */
export interface Heard {
  status: number;
  bytes: number;
  beginning: Beginning;
}

/** Where a model is asked, for one conversation. */
export interface ProviderLine {
  /** What stands behind the `?` of its address, or nothing: the providers know only a path. */
  query: string;
  files: KeptFiles;
  quote: Quote;
  /** Of the latest request; null before there is an answer. */
  heard: Heard | null;
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
    const heard: Heard = { status, bytes: 0, beginning: new Beginning() };
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
