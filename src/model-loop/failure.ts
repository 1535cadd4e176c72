import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  NoOutputGeneratedError,
  StreamProviderError,
  TypeValidationError,
} from 'ai';
import { formatBytes } from '../base/text.ts';
import type { AgentFailure } from '../schema/agent-protocol.ts';
import type { ModelType } from '../schema/model-spec.ts';
import { AgentError, ModelError, type Quote, ResponseInterrupted } from './agent-error.ts';
import type { ResponseStatus } from './provider-http.ts';
import { CHECK_ADDRESS, failureOf, messageIn, parsed } from './provider-response.ts';

interface Failure {
  code: AgentFailure;
  message: string;
}

/** The text that the SDK could not parse, if the error holds it. */
function unreadText(error: unknown): string | null {
  if (JSONParseError.isInstance(error)) return error.text;
  return TypeValidationError.isInstance(error) ? (JSON.stringify(error.value) ?? null) : null;
}

/** The provider's error event, recovered from the SDK's error; null if there was none. */
function errorEventIn(error: unknown): Failure | null {
  if (StreamProviderError.isInstance(error)) return eventFrom(error.data, error.statusCode, error.message);
  if (APICallError.isInstance(error)) return eventFrom(parsed(error.responseBody ?? ''), error.statusCode);
  // Error events in another provider's format: many servers are proxies that pass on errors unchanged.
  const text = unreadText(error);
  if (text !== null) return eventFrom(parsed(text), undefined);
  return error instanceof Error ? null : eventFrom(error, undefined, JSON.stringify(error));
}

/** The error event at the start of a response that the SDK rejected without details. */
const errorEventAt = (beginning: string): Failure | null =>
  eventFrom(parsed(/^data:(.*)$/m.exec(beginning)?.[1] ?? ''), undefined);

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

const MAX_MESSAGE_LENGTH = 2_000;
const MAX_TEXT_LENGTH = 1_000;

/** The code and message of a failed conversation, without secrets. */
export function failureFrom(thrown: unknown, quote: Quote, asked?: AskedModel): Failure {
  const { code, message } = asked ? ofModel(thrown, quote, asked) : ofAgent(thrown);
  return { code, message: quote(message, MAX_MESSAGE_LENGTH) };
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

/** Matches the start of every valid response of a type. */
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
