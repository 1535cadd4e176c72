import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { AgentFailure } from '../schema/agent-line.ts';
import { plainAddress } from './address.ts';
import { Beginning, readOn } from './beginning.ts';
import { ModelFailure } from './ending.ts';
import { saidIn } from './error-body.ts';
import type { Quote } from './quote.ts';

/** An answer with another status than success, in the words of whoever refused. */
export async function refusedAnswer(answer: IncomingMessage, quote: Quote): Promise<ModelFailure> {
  const { statusCode: status = 0, headers } = answer;
  const said = saidIn(await readOn(answer, new Beginning()), quote) ?? STATUS_CODES[status] ?? 'nothing more';
  if (status >= 300 && status < 400)
    return new ModelFailure(
      'ENGINE_FAILED',
      `answered ${status}${placeIn(headers.location)}. ${NOT_FOLLOWED}`,
    );
  const code = /\boverloaded\b/i.test(said) ? 'ENGINE_RATE_LIMITED' : failureOf(status);
  return new ModelFailure(code, `answered ${status}: ${said}${retryAfter(headers['retry-after'])}`);
}

/** In seconds, or as a date. Nothing is asked again by itself here, so whoever reads it needs to know. */
function retryAfter(header: string | undefined): string {
  const seconds = Number(header ?? '');
  const left = Number.isFinite(seconds) ? seconds : (Date.parse(header!) - Date.now()) / 1_000;
  return left > 0 ? ` (it asks to wait ${Math.ceil(left)} s before the next try)` : '';
}

/** One with success, and with something else than a model's events in it. */
export function answerWithoutEvents(
  { statusCode, headers }: IncomingMessage,
  text: string,
  quote: Quote,
): ModelFailure {
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
