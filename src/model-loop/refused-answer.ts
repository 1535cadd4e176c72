import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { AgentFailure } from '../schema/agent-line.ts';
import { plainAddress } from './address.ts';
import { MOST_REFUSED } from './bounds.ts';
import { ModelFailure } from './ending.ts';
import { type Quote, saidIn } from './quote.ts';

/** An answer with another status than success, in the words of whoever refused. */
export async function refusedAnswer(answer: IncomingMessage, quote: Quote): Promise<ModelFailure> {
  const { statusCode: status = 0, headers } = answer;
  const said = saidIn(await beginningOf(answer), quote) ?? STATUS_CODES[status] ?? 'nothing more';
  if (status >= 300 && status < 400)
    return new ModelFailure(
      'ENGINE_FAILED',
      `answered ${status}${placeIn(headers.location)}. ${NOT_FOLLOWED}`,
    );
  return new ModelFailure(failureOf(status), `answered ${status}: ${said}`);
}

/** One with success, and with something else than a model's events in it. */
export function answerWithoutEvents(
  { statusCode, headers }: IncomingMessage,
  body: Buffer | null,
  quote: Quote,
): ModelFailure {
  const text = body?.toString('utf8') ?? '';
  if (text.trim() === '')
    return new ModelFailure('ENGINE_FAILED', `answered ${statusCode} with nothing. ${LOOK}`);
  const type = quote(headers['content-type']?.split(';')[0] ?? 'something of no type', 100);
  return new ModelFailure(
    'ENGINE_FAILED',
    `answered ${statusCode} with ${type} and no stream of events: ${saidIn(text, quote)}. ${LOOK}`,
  );
}

/** What kind of failure a status tells of. */
export const failureOf = (status: number | undefined): AgentFailure =>
  (status !== undefined && CODES[status]) || 'ENGINE_FAILED';

const CODES: Record<number, AgentFailure> = {
  401: 'ENGINE_NOT_LOGGED_IN',
  403: 'ENGINE_NOT_LOGGED_IN',
  429: 'ENGINE_RATE_LIMITED',
  529: 'ENGINE_RATE_LIMITED',
};

export const LOOK = 'Look at the address (base_url) and the type of this model.';
const NOT_FOLLOWED =
  'Squad does not follow it, since the key would go along. If it is right, make it the address of this model (base_url).';

const placeIn = (location: string | undefined): string =>
  location === undefined ? ' and points nowhere' : ` and points to ${plainAddress(location)}`;

/** Never all of it: some do not end. One that breaks off has said what it has. */
async function beginningOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MOST_REFUSED) break;
    }
  } catch {
    // The status is what counts.
  }
  return Buffer.concat(chunks).toString('utf8', 0, MOST_REFUSED);
}
