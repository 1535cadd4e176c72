import { type IncomingMessage, STATUS_CODES } from 'node:http';
import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  NoOutputGeneratedError,
  StreamProviderError,
  TypeValidationError,
} from 'ai';
import { tryParseJson } from '../base/json.ts';
import { formatBytes } from '../base/text.ts';
import type { AgentFailure } from '../schema/agent-protocol.ts';
import type { ModelType } from '../schema/model-spec.ts';
import { AgentError, ModelError, type Quote, ResponseInterrupted } from './agent-error.ts';
import { plainAddress } from './model-options.ts';
import { MAX_ERROR_BODY_BYTES } from './output-lines.ts';
import type { ResponseStatus } from './provider-http.ts';

const MAX_MESSAGE_LENGTH = 1_000;

/** The error message in a body, or else its beginning. Null if the body is empty. */
function providerErrorText(body: string, quote: Quote): string | null {
  const message = messageIn(tryParseJson(body));
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

/** Timeout for reading a body that is only quoted: some servers never end it. */
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
    // Errors of the body are ignored: the status matters most to the caller, and the body is only quoted.
  } finally {
    clearTimeout(timer);
    answer.destroy();
  }
  return beginning.text;
}

/** Whether enough of the body was read. A complete JSON text is enough, even if the body has not ended. */
function isDone({ isFull, text }: ResponseStart): boolean {
  const last = text.trimEnd().at(-1);
  return isFull || ((last === '}' || last === ']') && tryParseJson(text) !== undefined);
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

/** The header contains seconds or a date. The text is shown to the user, because Squad does not retry. */
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

interface Failure {
  code: AgentFailure;
  message: string;
}

/** The text that the SDK could not parse, if the error holds it. */
function unreadText(error: unknown): string | null {
  if (JSONParseError.isInstance(error)) return error.text;
  return TypeValidationError.isInstance(error) ? (JSON.stringify(error.value) ?? null) : null;
}

/** The provider's error event, recovered from the SDK's error. Null if there was none. */
function errorEventIn(error: unknown): Failure | null {
  if (StreamProviderError.isInstance(error)) return eventFrom(error.data, error.statusCode, error.message);
  if (APICallError.isInstance(error))
    return eventFrom(tryParseJson(error.responseBody ?? ''), error.statusCode);
  // Error events in another provider's format: many servers are proxies that pass on errors unchanged.
  const text = unreadText(error);
  if (text !== null) return eventFrom(tryParseJson(text), undefined);
  return error instanceof Error ? null : eventFrom(error, undefined, JSON.stringify(error));
}

/** The error event at the start of a response that the SDK rejected without details. */
const errorEventAt = (beginning: string): Failure | null =>
  eventFrom(tryParseJson(/^data:(.*)$/m.exec(beginning)?.[1] ?? ''), undefined);

function eventFrom(frame: unknown, status: number | undefined, message = messageIn(frame)): Failure | null {
  if (!message) return null;
  const kind = kindIn(frame);
  const isSaid = kind === '' || message.includes(kind);
  const code = RATE_LIMITED.test(kind)
    ? 'ENGINE_RATE_LIMITED'
    : NOT_LOGGED_IN.test(kind)
      ? 'ENGINE_NOT_LOGGED_IN'
      : failureOf(status);
  return { code, message: isSaid ? message : `${message} (${kind})` };
}

const RATE_LIMITED = /rate.?limit|overload|quota|exhausted/i;
const NOT_LOGGED_IN = /authenticat|permission|invalid_api_key/i;

/** The provider's own error code or type. */
function kindIn(frame: unknown): string {
  if (typeof frame !== 'object' || frame === null) return '';
  const { error, response, type, code, status } = frame as Record<string, unknown>;
  const inner = kindIn(error ?? response);
  const own = [code, status, type].find(
    word => typeof word === 'string' && !/^(error|response\.)/.test(word),
  );
  return inner || ((own as string | undefined) ?? '');
}

interface AskedModel {
  name: string;
  type: ModelType;
  received: ResponseStatus | null;
}

const MAX_FAILURE_LENGTH = 2_000;
const MAX_TEXT_LENGTH = 1_000;

/** The code and message of a failed conversation, without secrets. */
export function failureFrom(thrown: unknown, quote: Quote, asked?: AskedModel): Failure {
  const { code, message } = asked ? ofModel(thrown, quote, asked) : ofAgent(thrown);
  return { code, message: quote(message, MAX_FAILURE_LENGTH) };
}

const ofAgent = (thrown: unknown): Failure => ({
  code: thrown instanceof AgentError ? thrown.code : 'ENGINE_FAILED',
  message: messageOf(thrown),
});

/** The SDK's own messages are meant for programmers, so only the provider's part of an error is used. */
function ofModel(thrown: unknown, quote: Quote, { name, type, received }: AskedModel): Failure {
  const chain = [...causes(thrown)];
  const own = chain.find(error => error instanceof ModelError);
  if (own) return { code: own.code, message: `${name} ${own.message}` };
  if (received === null)
    return { code: 'ENGINE_FAILED', message: `No request was sent to ${name}: ${messageOf(thrown)}` };
  const { status, bytes } = received;
  const beginning = received.beginning.text;
  const event = chain.map(errorEventIn).find(Boolean) ?? errorEventAt(beginning);
  if (event) {
    const text = quote(event.message, MAX_TEXT_LENGTH);
    return { code: event.code, message: `${name} answered ${status}, then sent an error: ${text}` };
  }
  const unread = chain.map(unreadText).find(text => text !== null);
  const isOfType = BEGINNINGS[type].test(beginning);
  const what =
    isOfType && chain.some(isCut)
      ? `, but the response ended early, after ${formatBytes(bytes)}.`
      : isOfType && unread === undefined
        ? ` with a response that cannot be processed: ${messageOf(thrown)}`
        : ` with events of another API type: “${quote(unread ?? beginning)}”. ${CHECK_ADDRESS}`;
  return { code: 'ENGINE_FAILED', message: `${name} answered ${status}${what}` };
}

const isCut = (error: unknown): boolean =>
  error instanceof ResponseInterrupted ||
  NoOutputGeneratedError.isInstance(error) ||
  InvalidResponseDataError.isInstance(error);

/** Patterns that match the beginning of every valid response, by API format. */
const BEGINNINGS: Record<ModelType, RegExp> = {
  anthropic: /"type": ?"message_start"/,
  openai: /"choices": ?\[/,
  responses: /"type": ?"response\./,
  google: /"candidates": ?\[/,
};

function* causes(thrown: unknown): Generator<unknown> {
  for (let error = thrown, depth = 0; error !== undefined && depth < MAX_DEPTH; depth++) {
    yield error;
    error = error instanceof Error ? error.cause : undefined;
  }
}

const MAX_DEPTH = 10;

/** The messages of an error and its causes. */
function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const own = thrown.message || thrown.name;
  return thrown.cause instanceof Error ? `${own}: ${messageOf(thrown.cause)}` : own;
}
