import { lookOf, oneLine, visibleText } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { type InboxField, type InboxItem, type InboxKind, NO, YES } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { checkText } from '../text.ts';
import { answerText } from './answer.ts';

/** What somebody is to be asked, as it came. */
export interface Ask {
  run: Run;
  kind: InboxKind;
  /** Beside the run: an MCP server, a tool of the engine. */
  source?: string;
  question: string;
  details?: string;
  choices?: readonly string[];
  fields?: readonly InboxField[];
  default?: string;
  minutes?: number;
  to?: 'user' | 'lead';
  /** Of a permission: which use of a tool it is for. */
  useKey?: string;
}

/** What is asked, without who asks whom and until when. */
type Wording = Pick<InboxItem, 'kind' | 'source' | 'question' | 'details' | 'choices' | 'fields' | 'useKey'>;

/** In characters; whoever has to answer reads all of it. */
const MAX_LENGTH = { question: 8_000, details: 40_000, choice: 200 };
const MAX_CHOICES = 20;
const MAX_FIELDS = 50;

/** Throws INVALID_INPUT and INVALID_TEXT. */
export function wordingOf(ask: Ask): Wording {
  const { kind, source = null, question, details = null, fields = [] } = ask;
  const isYesOrNo = kind !== 'question';
  if (isYesOrNo && (ask.choices?.length ?? 0) > 0)
    throw invalid(
      `What is of kind ${kind} is answered with yes or no`,
      'Leave choices out, or ask a question with them.',
    );
  const choices = isYesOrNo ? [YES, NO] : (ask.choices ?? []).map(choice => choice.trim());
  checkLength(question, 'question');
  if (details !== null) checkLength(details, 'details');
  checkChoices(choices);
  if (fields.length > MAX_FIELDS) throw invalid(`A form has at most ${MAX_FIELDS} fields`, 'Ask for less.');
  return {
    kind,
    source,
    question: question.trim(),
    details: details?.trim() ? details : null,
    choices,
    fields: [...fields],
    ...(ask.useKey !== undefined && { useKey: ask.useKey }),
  };
}

/** Throws INVALID_INPUT and ANSWER_INVALID: what counts when nobody answers. An agent does not give leave to itself. */
export function defaultOf(ask: Ask, wording: Wording): string | null {
  const usual = ask.kind === 'question' ? null : NO;
  if (ask.default === undefined) return usual;
  const given = answerText(wording, ask.default);
  if (ask.kind !== 'question' && given !== NO)
    throw invalid(
      `The default of what is of kind ${ask.kind} is no`,
      'Leave default out: what nobody allows is not allowed.',
    );
  return given;
}

/**
 * The same once more: its call broke off, or it was asked by two at once. What a server asks is asked for one call alone, and a
 * permission for one use of a tool: without knowing which, each is its own.
 */
export function isSame(a: Wording, b: Wording): boolean {
  if (a.kind === 'permission' || b.kind === 'permission')
    return a.kind === b.kind && a.useKey !== undefined && a.useKey === b.useKey;
  return a.source === null && JSON.stringify(plain(a)) === JSON.stringify(plain(b));
}

const plain = ({ kind, source, question, details, choices, fields }: Wording) => [
  ...[kind, source, question, details],
  ...[choices, fields],
];

function checkLength(text: string, what: 'question' | 'details'): void {
  if (what === 'question' && text.trim() === '')
    throw invalid('The question is empty', 'Ask in a sentence or more what you need to know.');
  checkText(text, `The ${what}`);
  if (text.length > MAX_LENGTH[what])
    throw invalid(
      `The ${what} has ${text.length} characters; at most ${MAX_LENGTH[what]} are taken`,
      'Keep to what a person needs to decide, and name files instead of quoting them. Nobody was asked.',
    );
}

function checkChoices(choices: readonly string[]): void {
  for (const choice of choices) {
    checkText(choice, 'A choice');
    if (choice === '' || choice.length > MAX_LENGTH.choice)
      throw invalid(
        `A choice has 1 to ${MAX_LENGTH.choice} characters`,
        'Say what each means in the question or in details.',
      );
  }
  const count = choices.length;
  if (count > MAX_CHOICES)
    throw invalid(`There are ${count} choices; at most ${MAX_CHOICES} are taken`, 'Ask without choices.');
  if (count === 1 || new Set(choices.map(choice => lookOf(choice).toLowerCase())).size < count)
    throw invalid('Choices are two or more, all different', 'Leave choices out for an answer in words.');
}

const invalid = (message: string, suggestion: string) =>
  new SquadError('INVALID_INPUT', message, { suggestions: [suggestion] });

/** In characters. What is to be allowed is shown as far as a result has room for it, and line by line. */
const MAX_SHOWN_LENGTH = { toKnow: 300, toAllow: 1_000 };

export const MAX_SHOWN_QUESTION_LENGTH = 600;

/** Details as a model's result has them, and how many characters of what is to be allowed are not in it. */
export function shortDetails({ kind, question, details }: Pick<InboxItem, 'kind' | 'question' | 'details'>): {
  text: string | null;
  hidden: number;
} {
  if (kind === 'question')
    return { text: details && oneLine(visibleText(details), MAX_SHOWN_LENGTH.toKnow), hidden: 0 };
  const characters = [...visibleText(details ?? '')];
  const hidden =
    Math.max(0, characters.length - MAX_SHOWN_LENGTH.toAllow) +
    Math.max(0, [...question].length - MAX_SHOWN_QUESTION_LENGTH);
  if (hidden === 0) return { text: details && characters.join(''), hidden };
  const shown = characters.slice(0, MAX_SHOWN_LENGTH.toAllow).join('');
  return { text: `${shown}… (${hidden} characters not shown: ${SEEN_WHOLE})`, hidden };
}

export const SEEN_WHOLE = '`squad inbox` or the page shows all, and only there it can be allowed';
