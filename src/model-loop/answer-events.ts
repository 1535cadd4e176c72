import type { IncomingMessage } from 'node:http';
import { sizeWords } from '../base/size-words.ts';
import { readOn } from './beginning.ts';
import { LONGEST_EVENT, MOST_ANSWERED, MOST_EVENTS } from './bounds.ts';
import { ModelFailure } from './ending.ts';
import type { Heard } from './provider-fetch.ts';
import type { Quote } from './quote.ts';
import { answerWithoutEvents } from './refused-answer.ts';

/** An answer on its way to the SDK, as long as it keeps within bounds. The SDK itself would take in whatever comes. */
export async function* watchedEvents(
  answer: IncomingMessage,
  heard: Heard,
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
      if (heard.bytes > MOST_ANSWERED) throw tooMuch(`more than ${sizeWords(MOST_ANSWERED)}`);
      if (events.count > MOST_EVENTS) throw tooMuch(`more than ${MOST_EVENTS.toLocaleString('en')} events`);
      if (events.open > LONGEST_EVENT) throw tooMuch(`an event of more than ${sizeWords(LONGEST_EVENT)}`);
      if (areEvents) {
        yield chunk;
        continue;
      }
      areEvents = beginsWithField(beginning.text);
      if (areEvents) yield beginning.bytes;
      else if (beginning.isFull || !mayBecomeField(beginning.text)) break;
    }
    if (!areEvents || heard.bytes === 0)
      throw answerWithoutEvents(answer, await readOn(answer, beginning), quote);
  } catch (thrown) {
    signal?.throwIfAborted();
    if (thrown instanceof ModelFailure) throw thrown;
    throw new ModelFailure(
      'ENGINE_FAILED',
      `answered ${heard.status} and broke off before the end of its answer, after ${sizeWords(heard.bytes)}: the connection was closed (${(thrown as Error).message}).`,
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
