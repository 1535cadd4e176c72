import { oneLine, visibleText, visualKey } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { ALWAYS, type InboxField, type InboxItem, type InboxKind, NO, YES } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { checkText } from '../text.ts';
import { answerText } from './answer.ts';

export interface Ask {
  run: Run;
  kind: InboxKind;
  /** Name of the MCP server or engine tool that asks through the run. */
  source?: string;
  question: string;
  details?: string;
  choices?: readonly string[];
  fields?: readonly InboxField[];
  default?: string;
  minutes?: number;
  to?: 'user' | 'lead';
  /** Identifies one use of a tool, for a question of an engine. */
  useKey?: string;
  /** True if the user may answer `always`. */
  mayBeAlways?: boolean;
}

/** The content of an item, without asker, owner and deadline. */
type Wording = Pick<InboxItem, 'kind' | 'source' | 'question' | 'details' | 'choices' | 'fields' | 'useKey'>;

/** Limits in characters, because a person has to read all of it. */
const MAX_LENGTH = { question: 8_000, details: 40_000, choice: 200 };
const MAX_CHOICES = 20;
const MAX_FIELDS = 50;

/** Throws INVALID_INPUT and INVALID_TEXT. */
export function wordingOf(ask: Ask): Wording {
  const { kind, source = null, question, details = null, fields = [] } = ask;
  const isYesOrNo = kind !== 'question';
  if (isYesOrNo && (ask.choices?.length ?? 0) > 0)
    throw invalid(
      `An item of kind ${kind} is answered with yes or no`,
      'Leave choices out, or ask a question with them.',
    );
  const yesOrNo = ask.mayBeAlways ? [YES, NO, ALWAYS] : [YES, NO];
  const choices = isYesOrNo ? yesOrNo : (ask.choices ?? []).map(choice => choice.trim());
  checkLength(question, 'question');
  if (details !== null) checkLength(details, 'details');
  checkChoices(choices);
  if (fields.length > MAX_FIELDS)
    throw invalid(`A form has at most ${MAX_FIELDS} fields`, 'Ask for fewer values at once.');
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

/**
 * The answer if nobody answers in time. An agent cannot give itself permission. Throws INVALID_INPUT and
 * ANSWER_INVALID.
 */
export function defaultOf(ask: Ask, wording: Wording): string | null {
  const usual = ask.kind === 'question' ? null : NO;
  if (ask.default === undefined) return usual;
  const given = answerText(wording, ask.default);
  if (ask.kind !== 'question' && given !== NO)
    throw invalid(
      `The default of an item of kind ${ask.kind} is always "no"`,
      'Leave default out. Without an answer the action is not allowed.',
    );
  return given;
}

/**
 * Whether both are the same question: the call was interrupted and repeated, or two calls asked at once. A server's
 * question belongs to one call, so it is never the same; a permission belongs to one use of a tool and is the same only
 * with the same `useKey`.
 */
export function isSame(a: Wording, b: Wording): boolean {
  if (a.kind === 'permission' || b.kind === 'permission' || a.useKey !== undefined || b.useKey !== undefined)
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
      `The ${what} has ${text.length} characters; at most ${MAX_LENGTH[what]} are allowed`,
      'Keep to what a person needs to decide, and name files instead of quoting them. Nobody was asked.',
    );
}

function checkChoices(choices: readonly string[]): void {
  for (const choice of choices) {
    checkText(choice, 'A choice');
    if (choice === '' || choice.length > MAX_LENGTH.choice)
      throw invalid(
        `A choice has 1 to ${MAX_LENGTH.choice} characters`,
        'Explain each choice in the question or in details instead.',
      );
  }
  const count = choices.length;
  if (count > MAX_CHOICES)
    throw invalid(`There are ${count} choices; at most ${MAX_CHOICES} are allowed`, 'Ask without choices.');
  if (count === 1 || new Set(choices.map(choice => visualKey(choice).toLowerCase())).size < count)
    throw invalid('Give at least two choices, all different', 'Leave choices out for a free-text answer.');
}

const invalid = (message: string, suggestion: string) =>
  new SquadError('INVALID_INPUT', message, { suggestions: [suggestion] });

/** Limits in characters. Details of an approval get more space and keep their lines. */
const MAX_SHOWN_LENGTH = { question: 300, approval: 1_000 };

export const MAX_SHOWN_QUESTION_LENGTH = 600;

/** The details as a model sees them. `hidden`: number of characters of an approval that it does not see. */
export function shortDetails({ kind, question, details }: Pick<InboxItem, 'kind' | 'question' | 'details'>): {
  text: string | null;
  hidden: number;
} {
  if (kind === 'question')
    return { text: details && oneLine(visibleText(details), MAX_SHOWN_LENGTH.question), hidden: 0 };
  const characters = [...visibleText(details ?? '')];
  const hidden =
    Math.max(0, characters.length - MAX_SHOWN_LENGTH.approval) +
    Math.max(0, [...question].length - MAX_SHOWN_QUESTION_LENGTH);
  if (hidden === 0) return { text: details && characters.join(''), hidden };
  const shown = characters.slice(0, MAX_SHOWN_LENGTH.approval).join('');
  return { text: `${shown}… (${hidden} characters not shown: ${SEEN_WHOLE})`, hidden };
}

export const SEEN_WHOLE =
  '`squad inbox` and the web UI show the whole request, and it can be allowed only there';
