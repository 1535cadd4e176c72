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
import { CutOff, Ending, ModelFailure, type Quote } from './ending.ts';
import type { ResponseStatus } from './provider-http.ts';
import { failureOf, LOOK, messageIn, parsed } from './provider-response.ts';

interface ErrorEvent {
  code: AgentFailure;
  message: string;
}

/** What the SDK could not read, where it says it. */
function unreadText(error: unknown): string | null {
  if (JSONParseError.isInstance(error)) return error.text;
  return TypeValidationError.isInstance(error) ? (JSON.stringify(error.value) ?? null) : null;
}

/** The event that says what went wrong at the other side, from what the SDK made of it; null: it is no such event. */
function errorEventIn(error: unknown): ErrorEvent | null {
  if (StreamProviderError.isInstance(error)) return eventFrom(error.data, error.statusCode, error.message);
  if (APICallError.isInstance(error)) return eventFrom(parsed(error.responseBody ?? ''), error.statusCode);
  // In the shape of another provider: many stand in front of others, and pass on what those say.
  const text = unreadText(error);
  if (text !== null) return eventFrom(parsed(text), undefined);
  return error instanceof Error ? null : eventFrom(error, undefined, JSON.stringify(error));
}

/** The same, from the beginning of an answer of which the SDK only says that it is none. */
const errorEventAt = (beginning: string): ErrorEvent | null =>
  eventFrom(parsed(/^data:(.*)$/m.exec(beginning)?.[1] ?? ''), undefined);

function eventFrom(
  frame: unknown,
  status: number | undefined,
  message = messageIn(frame),
): ErrorEvent | null {
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

/** The provider's own word for it. */
function kindIn(frame: unknown): string {
  if (typeof frame !== 'object' || frame === null) return '';
  const { error, response, type, code, status } = frame as Record<string, unknown>;
  const inner = kindIn(error ?? response);
  const own = [code, status, type].find(
    word => typeof word === 'string' && !/^(error|response\.)/.test(word),
  );
  return inner || ((own as string | undefined) ?? '');
}

interface Failure {
  code: AgentFailure;
  message: string;
}

/** Who was asked, and what came back before it failed. */
interface AskedModel {
  name: string;
  type: ModelType;
  heard: ResponseStatus | null;
}

const MAX_MESSAGE_LENGTH = 2_000;
const MAX_TEXT_LENGTH = 1_000;

/** Why a conversation failed, in words for whoever asked; never with a secret in them. */
export function failureFrom(thrown: unknown, quote: Quote, asked?: AskedModel): Failure {
  const { code, message } = asked ? ofModel(thrown, quote, asked) : ofAgent(thrown);
  return { code, message: quote(message, MAX_MESSAGE_LENGTH) };
}

const ofAgent = (thrown: unknown): Failure => ({
  code: thrown instanceof Ending ? thrown.code : 'ENGINE_FAILED',
  message: wordsOf(thrown),
});

/** The SDK wraps what went wrong, and says it in words for programmers: only what the other side said is taken from it. */
function ofModel(thrown: unknown, quote: Quote, { name, type, heard }: AskedModel): Failure {
  const chain = [...causes(thrown)];
  const own = chain.find(error => error instanceof ModelFailure);
  if (own) return { code: own.code, message: `${name} ${own.message}` };
  if (heard === null) return { code: 'ENGINE_FAILED', message: `${name} was not asked: ${wordsOf(thrown)}` };
  const { status, bytes } = heard;
  const beginning = heard.beginning.text;
  const told = chain.map(errorEventIn).find(Boolean) ?? errorEventAt(beginning);
  if (told) {
    const said = quote(told.message, MAX_TEXT_LENGTH);
    return { code: told.code, message: `${name} answered ${status}, and ended with an error: ${said}` };
  }
  const unread = chain.map(unreadText).find(text => text !== null);
  const isOfType = BEGINNINGS[type].test(beginning);
  const what =
    isOfType && chain.some(isCut)
      ? `and broke off before the end of its answer, after ${formatBytes(bytes)}.`
      : isOfType && unread === undefined
        ? `with what cannot be taken in: ${wordsOf(thrown)}`
        : `with events that are not of its type: “${quote(unread ?? beginning)}”. ${LOOK}`;
  return { code: 'ENGINE_FAILED', message: `${name} answered ${status} ${what}` };
}

const isCut = (error: unknown): boolean =>
  error instanceof CutOff ||
  NoOutputGeneratedError.isInstance(error) ||
  InvalidResponseDataError.isInstance(error);

/** How an answer begins: what does not was never one. */
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

/** With what was behind it, where that says more. */
function wordsOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const own = thrown.message || thrown.name;
  return thrown.cause instanceof Error ? `${own}: ${wordsOf(thrown.cause)}` : own;
}
