import { InvalidResponseDataError, NoOutputGeneratedError } from 'ai';
import { sizeWords } from '../base/size-words.ts';
import type { AgentFailure } from '../schema/agent-line.ts';
import type { ModelType } from '../schema/model-spec.ts';
import { CutOff, Ending, ModelFailure } from './ending.ts';
import { errorEventAt, errorEventIn, unreadText } from './error-event.ts';
import type { Heard } from './provider-fetch.ts';
import type { Quote } from './quote.ts';
import { LOOK } from './refused-answer.ts';

export interface Failure {
  code: AgentFailure;
  message: string;
}

/** Who was asked, and what came back before it failed. */
export interface AskedModel {
  name: string;
  type: ModelType;
  heard: Heard | null;
}

const LONGEST = 2_000;
const LONGEST_SAID = 1_000;

/** Why a conversation failed, in words for whoever asked; never with a secret in them. */
export function failureFrom(thrown: unknown, quote: Quote, asked?: AskedModel): Failure {
  const { code, message } = asked ? ofModel(thrown, quote, asked) : ofAgent(thrown);
  return { code, message: quote(message, LONGEST) };
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
    const said = quote(told.message, LONGEST_SAID);
    return { code: told.code, message: `${name} answered ${status}, and ended with an error: ${said}` };
  }
  const unread = chain.map(unreadText).find(text => text !== null);
  const isOfType = BEGINNINGS[type].test(beginning);
  const what =
    isOfType && chain.some(isCut)
      ? `and broke off before the end of its answer, after ${sizeWords(bytes)}.`
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
  for (let error = thrown, depth = 0; error !== undefined && depth < DEEPEST; depth++) {
    yield error;
    error = error instanceof Error ? error.cause : undefined;
  }
}

const DEEPEST = 10;

/** With what was behind it, where that says more. */
function wordsOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const own = thrown.message || thrown.name;
  return thrown.cause instanceof Error ? `${own}: ${wordsOf(thrown.cause)}` : own;
}
