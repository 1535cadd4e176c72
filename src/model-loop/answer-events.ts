import type { IncomingMessage } from 'node:http';
import { sizeWords } from '../schema/size-words.ts';
import { LONGEST_EVENT, MOST_ANSWERED, MOST_EVENTS, MOST_REFUSED } from './bounds.ts';
import { ModelFailure } from './ending.ts';
import type { Heard } from './provider-fetch.ts';
import type { Quote } from './quote.ts';
import { answerWithoutEvents } from './refused-answer.ts';

const BEGINNING = 2_000;

/** An answer on its way to the SDK, as long as it keeps within bounds. The SDK itself would take in whatever comes. */
export async function* watchedEvents(
  answer: IncomingMessage,
  heard: Heard,
  signal: AbortSignal | null,
  quote: Quote,
): AsyncGenerator<Buffer> {
  const events = new EventCount();
  // Some servers send events and call them something else.
  let start = isEventStream(answer) ? null : Buffer.alloc(0);
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      heard.bytes += chunk.length;
      if (heard.beginning.length < BEGINNING) heard.beginning += chunk.toString('utf8', 0, BEGINNING);
      events.take(chunk);
      if (heard.bytes > MOST_ANSWERED) throw tooMuch(`more than ${sizeWords(MOST_ANSWERED)}`);
      if (events.count > MOST_EVENTS) throw tooMuch(`more than ${MOST_EVENTS.toLocaleString('en')} events`);
      if (events.open > LONGEST_EVENT) throw tooMuch(`an event of more than ${sizeWords(LONGEST_EVENT)}`);
      if (start === null) {
        yield chunk;
        continue;
      }
      start = Buffer.concat([start, chunk]);
      if (BEGINS_WITH_EVENT.test(start.toString('utf8', 0, 100))) {
        yield start;
        start = null;
      } else if (start.length >= MOST_REFUSED) break;
    }
  } catch (thrown) {
    signal?.throwIfAborted();
    if (thrown instanceof ModelFailure) throw thrown;
    throw new ModelFailure(
      'ENGINE_FAILED',
      `answered ${heard.status} and broke off before the end of its answer, after ${sizeWords(heard.bytes)}: the connection was closed (${(thrown as Error).message}).`,
    );
  }
  if (start !== null || heard.bytes === 0) throw answerWithoutEvents(answer, start, quote);
}

const isEventStream = ({ headers }: IncomingMessage): boolean =>
  /^text\/event-stream\b/i.test(headers['content-type'] ?? '');

const BEGINS_WITH_EVENT = /^\s*(?:data|event|id|retry)?:/;

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
