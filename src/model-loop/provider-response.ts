import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { AgentFailure } from '../schema/agent-protocol.ts';
import { plainAddress } from './address.ts';
import { ModelError, type Quote } from './agent-error.ts';
import { MAX_ERROR_BODY_BYTES } from './output-lines.ts';

const MAX_MESSAGE_LENGTH = 1_000;

/** The error message in a body, or else its beginning. Null if the body is empty. */
function providerErrorText(body: string, quote: Quote): string | null {
  const message = messageIn(parsed(body));
  if (message !== null) return quote(message, MAX_MESSAGE_LENGTH);
  return body.trim() === '' ? null : `“${quote(body)}”`;
}

/** The message in an error object of any provider. */
export function messageIn(value: unknown): string | null {
  if (Array.isArray(value)) return messageIn(value[0]);
  if (typeof value !== 'object' || value === null) return null;
  const { error, message, detail, response } = value as Record<string, unknown>;
  for (const text of [error, message, detail]) if (typeof text === 'string' && text.trim()) return text;
  return messageIn(error ?? response);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** For bodies that are only quoted: some servers never end them. */
const BODY_TIMEOUT_MS = 5_000;

/** The beginning of a response. Much longer than any quote: secrets must be redacted before the text is cut. */
export class ResponseStart {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  add(chunk: Buffer): void {
    if (this.isFull) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  get isFull(): boolean {
    return this.#length >= MAX_ERROR_BODY_BYTES;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.bytes.toString('utf8', 0, MAX_ERROR_BODY_BYTES);
  }
}

/** Reads on until the body ends, is long enough or times out. A broken connection counts as the end. */
export async function readRest(answer: IncomingMessage, beginning: ResponseStart): Promise<string> {
  const timer = setTimeout(() => answer.destroy(), BODY_TIMEOUT_MS);
  try {
    if (isDone(beginning)) return beginning.text;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      beginning.add(chunk);
      if (isDone(beginning)) break;
    }
  } catch {
    // The caller needs the status most; the body is only quoted.
  } finally {
    clearTimeout(timer);
    answer.destroy();
  }
  return beginning.text;
}

/** Complete JSON needs no end of the body. */
function isDone({ isFull, text }: ResponseStart): boolean {
  const last = text.trimEnd().at(-1);
  return isFull || ((last === '}' || last === ']') && parsed(text) !== null);
}

/** The error for a response without a success status. */
export async function refusedAnswer(answer: IncomingMessage, quote: Quote): Promise<ModelError> {
  const { statusCode: status = 0, headers } = answer;
  const said =
    providerErrorText(await readRest(answer, new ResponseStart()), quote) ??
    STATUS_CODES[status] ??
    'no message';
  if (status >= 300 && status < 400)
    return new ModelError(
      'ENGINE_FAILED',
      `answered ${status}${redirectText(headers.location)}. ${REDIRECT_ADVICE}`,
    );
  const code = /\boverloaded\b/i.test(said) ? 'ENGINE_RATE_LIMITED' : failureOf(status);
  return new ModelError(code, `answered ${status}: ${said}${retryAfter(headers['retry-after'])}`);
}

/** The header holds seconds or a date. Squad does not retry, so the user needs to know. */
function retryAfter(header: string | undefined): string {
  const seconds = Number(header ?? '');
  const left = Number.isFinite(seconds) ? seconds : (Date.parse(header!) - Date.now()) / 1_000;
  return left > 0 ? ` (retry after ${Math.ceil(left)} s)` : '';
}

/** The error for a successful response that is not an event stream. */
export function answerWithoutEvents(
  { statusCode, headers }: IncomingMessage,
  text: string,
  quote: Quote,
): ModelError {
  if (text.trim() === '')
    return new ModelError('ENGINE_FAILED', `answered ${statusCode} with an empty body. ${CHECK_ADDRESS}`);
  const type = quote(headers['content-type']?.split(';')[0] ?? 'no content type', 100);
  return new ModelError(
    'ENGINE_FAILED',
    `answered ${statusCode} with ${type} instead of an event stream: ${providerErrorText(text, quote)}. ${CHECK_ADDRESS}`,
  );
}

export const failureOf = (status: number | undefined): AgentFailure =>
  (status !== undefined && CODES[status]) || 'ENGINE_FAILED';

const CODES: Record<number, AgentFailure> = {
  401: 'ENGINE_NOT_LOGGED_IN',
  403: 'ENGINE_NOT_LOGGED_IN',
  429: 'ENGINE_RATE_LIMITED',
  529: 'ENGINE_RATE_LIMITED',
};

export const CHECK_ADDRESS = 'Check the address (base_url) and the type of this model.';
const REDIRECT_ADVICE =
  'Squad does not follow redirects, because that would send the API key to another address. If the new address is right, use it as base_url.';

const redirectText = (location: string | undefined): string =>
  location === undefined ? ' without a location' : `, a redirect to ${plainAddress(location)}`;
