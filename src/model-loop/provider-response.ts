import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { AgentFailure } from '../schema/agent-protocol.ts';
import { plainAddress } from './address.ts';
import { ModelFailure, type Quote } from './ending.ts';
import { MAX_REFUSED } from './output-lines.ts';

const MAX_MESSAGE_LENGTH = 1_000;

/** What a body says: the message in it, where it is an error as all providers write one, else how it begins. Null: nothing. */
function providerErrorText(body: string, quote: Quote): string | null {
  const message = messageIn(parsed(body));
  if (message !== null) return quote(message, MAX_MESSAGE_LENGTH);
  return body.trim() === '' ? null : `“${quote(body)}”`;
}

/** The words in an error, in the shape of whatever provider. */
export function messageIn(value: unknown): string | null {
  if (Array.isArray(value)) return messageIn(value[0]);
  if (typeof value !== 'object' || value === null) return null;
  const { error, message, detail, response } = value as Record<string, unknown>;
  for (const words of [error, message, detail]) if (typeof words === 'string' && words.trim()) return words;
  return messageIn(error ?? response);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** For what is only quoted: some never say that they are done. */
const BODY_TIMEOUT_MS = 5_000;

/** How an answer begins. Far more than is ever quoted of it: the cut must come when no secret is in it any more. */
export class ResponseStart {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  add(chunk: Buffer): void {
    if (this.isFull) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  get isFull(): boolean {
    return this.#length >= MAX_REFUSED;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.bytes.toString('utf8', 0, MAX_REFUSED);
  }
}

/** Takes in more of it, until it is whole, or enough, or has had its time. What breaks off has said what it has. */
export async function readRest(answer: IncomingMessage, beginning: ResponseStart): Promise<string> {
  const patience = setTimeout(() => answer.destroy(), BODY_TIMEOUT_MS);
  try {
    if (isDone(beginning)) return beginning.text;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      beginning.add(chunk);
      if (isDone(beginning)) break;
    }
  } catch {
    // The status is what counts.
  } finally {
    clearTimeout(patience);
    answer.destroy();
  }
  return beginning.text;
}

/** JSON says by itself where it ends. */
function isDone({ isFull, text }: ResponseStart): boolean {
  const last = text.trimEnd().at(-1);
  return isFull || ((last === '}' || last === ']') && parsed(text) !== null);
}

/** An answer with another status than success, in the words of whoever refused. */
export async function refusedAnswer(answer: IncomingMessage, quote: Quote): Promise<ModelFailure> {
  const { statusCode: status = 0, headers } = answer;
  const said =
    providerErrorText(await readRest(answer, new ResponseStart()), quote) ??
    STATUS_CODES[status] ??
    'nothing more';
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
    `answered ${statusCode} with ${type} and no stream of events: ${providerErrorText(text, quote)}. ${LOOK}`,
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
