import { isObject } from '../../base/json.ts';
import { oneLine, visibleText } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import {
  ALWAYS,
  DECLINE,
  type InboxField,
  type InboxItem,
  NO,
  whoAnswered,
  whyWithdrawn,
  YES,
} from '../../schema/inbox.ts';
import { withCpuLimit } from '../cpu-limit.ts';
import { checkText, didYouMean, parseJson } from '../text.ts';

type Json = Record<string, unknown>;
type Limits = Pick<
  InboxField,
  'isInteger' | 'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'pattern' | 'format'
>;

const MAX_PATTERN_LENGTH = 500;
const PATTERN_CPU_MS = 50;
const FORMATS: Record<string, (text: string) => boolean> = {
  email: text => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: text => URL.canParse(text),
  date: text => /^\d{4}-\d\d-\d\d$/.test(text) && isTime(text),
  'date-time': text =>
    /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text) && isTime(text),
};

/** The limits in a server's schema, as far as Squad can check them. */
export function limitsOf(schema: Json): Limits {
  const { type, pattern, format } = schema;
  const number = (name: 'minimum' | 'maximum') =>
    Number.isFinite(schema[name]) ? { [name]: schema[name] as number } : {};
  const length = (name: 'minLength' | 'maxLength') =>
    Number.isSafeInteger(schema[name]) && (schema[name] as number) >= 0
      ? { [name]: schema[name] as number }
      : {};
  if (type === 'integer' || type === 'number')
    return { ...(type === 'integer' && { isInteger: true }), ...number('minimum'), ...number('maximum') };
  if (type !== 'string') return {};
  return {
    ...length('minLength'),
    ...length('maxLength'),
    ...(typeof pattern === 'string' &&
      pattern.length <= MAX_PATTERN_LENGTH &&
      isPattern(pattern) && { pattern }),
    ...(typeof format === 'string' && Object.hasOwn(FORMATS, format) && { format }),
  };
}

/** Why a value is invalid, as the rest of a sentence. Null if it is valid. */
function outsideLimits(limits: Limits, value: unknown): string | null {
  if (typeof value === 'number') return numberOutside(limits, value);
  return typeof value === 'string' ? textOutside(limits, value) : null;
}

function numberOutside({ isInteger, minimum, maximum }: Limits, value: number): string | null {
  if (isInteger && !Number.isInteger(value)) return 'must be a whole number';
  if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
  return maximum !== undefined && value > maximum ? `must be at most ${maximum}` : null;
}

function textOutside({ minLength = 0, maxLength, pattern, format }: Limits, text: string): string | null {
  const { length } = [...text];
  if (length < minLength) return `must have at least ${minLength} characters`;
  if (maxLength !== undefined && length > maxLength) return `must have at most ${maxLength} characters`;
  if (format !== undefined && FORMATS[format]?.(text) === false) return `must be of format ${format}`;
  return pattern !== undefined && !matches(pattern, text) ? `must match ${pattern}` : null;
}

/** A server's pattern may take for ever or exhaust the stack. Then the value counts as a match, and the server has to check it. */
function matches(pattern: string, text: string): boolean {
  try {
    return withCpuLimit(PATTERN_CPU_MS, () => new RegExp(pattern, 'u').test(text));
  } catch {
    return true;
  }
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') !== null;
  } catch {
    return false;
  }
}

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));

type Asked = Pick<InboxItem, 'kind' | 'choices' | 'fields'>;

const MAX_ANSWER_LENGTH = 64_000;
const MAX_SHOWN_LENGTH = 60;
const MAX_WRONG_LENGTH = 200;
const YESES = new Set([YES, 'y', 'ok', 'okay', 'true', 'approve', 'allow', 'accept']);
const NOES = new Set([NO, 'n', 'false', 'deny', DECLINE, 'reject']);

/** The answer in the form that is stored. Throws ANSWER_INVALID and INVALID_TEXT. */
export function answerText(item: Asked, said: string): string {
  checkText(said, 'The answer');
  if (said.length > MAX_ANSWER_LENGTH)
    throw refused(
      `The answer has ${said.length} characters; at most ${MAX_ANSWER_LENGTH} are allowed`,
      'Give a shorter answer.',
    );
  const text = said.trim();
  if (text === '') throw refused('The answer is empty', answerOptions(item));
  if (item.fields.length > 0)
    return isDeclined(item.fields, text) ? NO : JSON.stringify(formAnswer(item.fields, text));
  if (item.kind !== 'question') return yesOrNo(item.choices, text);
  return item.choices.length > 0 ? choiceOf(item.choices, text) : text;
}

function answerOptions({ kind, choices, fields }: Asked): string {
  if (fields.length > 0)
    return `Answer with a JSON object, or ${DECLINE}: ${fields.map(describeField).join(', ')}.`;
  if (kind !== 'question') return yesOrNoOptions(choices);
  if (choices.length === 0) return 'Answer with text.';
  return `Answer with one of these, or its number: ${choices.map((choice, i) => `${i + 1} ${shown(choice)}`).join(', ')}.`;
}

const yesOrNoOptions = (choices: readonly string[]): string =>
  choices.includes(ALWAYS) ? 'Answer yes, always, no, or "no: REASON".' : 'Answer yes, no, or "no: REASON".';

function yesOrNo(choices: readonly string[], text: string): string {
  if (choices.includes(ALWAYS) && (text.toLowerCase() === ALWAYS || text === '3')) return ALWAYS;
  if (isNo(text) || text === '2') return NO;
  if (YESES.has(text.toLowerCase()) || text === '1') return YES;
  const reason = /^no\s*[:,;.]\s*(\S.*)$/is.exec(text)?.[1];
  if (reason !== undefined) return `${NO}: ${reason}`;
  throw refused(`"${shown(text)}" is neither yes nor no`, yesOrNoOptions(choices));
}

/**
 * Whether the user declined. In a form with a single field, "no" is a value if the field is yes or no, or has "no" as
 * a choice.
 */
function isDeclined([first, ...more]: readonly InboxField[], text: string): boolean {
  if (text.toLowerCase() === DECLINE) return true;
  if (!isNo(text)) return false;
  if (more.length > 0 || first!.type === 'text' || first!.type === 'number') return true;
  return READERS[first!.type](text, first!.choices) === undefined;
}

const isNo = (text: string) => NOES.has(text.toLowerCase());

/**
 * Finds the choice that the answer names, by text or by number. Texts are compared first, because a choice may itself
 * be a number.
 */
function choiceOf(choices: readonly string[], text: string): string {
  const named =
    choices.find(choice => choice === text) ??
    choices.find(choice => choice.toLowerCase() === text.toLowerCase());
  const picked = named ?? (/^\d{1,3}$/.test(text) ? choices[Number(text) - 1] : undefined);
  if (picked !== undefined) return picked;
  throw refused(
    `"${shown(text)}" is none of the choices`,
    answerOptions({ kind: 'question', choices: [...choices], fields: [] }),
  );
}

function formAnswer(fields: readonly InboxField[], text: string): Record<string, unknown> {
  const given = parseJson(text);
  const [first] = fields;
  // With a single field, the answer may be its plain value instead of JSON.
  const values = isObject(given) ? given : { [first!.name]: text };
  if (!isObject(given) && fields.length > 1)
    throw refused(
      'This asks for several values',
      answerOptions({ kind: 'question', choices: [], fields: [...fields] }),
    );
  for (const name of Object.keys(values))
    if (!fields.some(field => field.name === name))
      throw refused(
        `There is no field "${shown(name)}"`,
        `The fields are ${fields.map(describeField).join(', ')}.`,
      );
  const filled = fields.flatMap(field => {
    const value = fieldValue(field, Object.hasOwn(values, field.name) ? values[field.name] : undefined);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return Object.fromEntries(filled);
}

/** Converts the value to the field's type. Undefined if the field was left empty. */
function fieldValue(field: InboxField, value: unknown): unknown {
  const isMissing = value === undefined || value === null || value === '';
  if (isMissing && !field.isRequired) return undefined;
  const taken = isMissing ? undefined : READERS[field.type](value, field.choices);
  if (typeof taken === 'string') checkText(taken, `"${shown(field.name)}"`);
  const wrong = taken === undefined ? null : outsideLimits(field, taken);
  if (taken !== undefined && wrong === null) return taken;
  throw refused(
    isMissing
      ? `"${shown(field.name)}" is missing`
      : `"${shown(field.name)}" ${wrong === null ? `cannot be ${shown(JSON.stringify(value))}` : oneLine(visibleText(wrong), MAX_WRONG_LENGTH)}`,
    `It is ${describeField(field)}.`,
  );
}

const READERS: Record<InboxField['type'], (value: unknown, choices: readonly string[]) => unknown> = {
  text: value => (typeof value === 'string' ? value : String(JSON.stringify(value))),
  number: value => {
    const figure = typeof value === 'string' ? Number(value.trim() || Number.NaN) : value;
    return typeof figure === 'number' && Number.isFinite(figure) ? figure : undefined;
  },
  boolean: value => {
    if (typeof value === 'boolean') return value;
    const word = String(value).toLowerCase();
    return YESES.has(word) ? true : NOES.has(word) ? false : undefined;
  },
  choice: (value, choices) => choices.find(choice => choice === String(value)),
  choices: (value, choices) => {
    const list = Array.isArray(value)
      ? value.map(String)
      : String(value)
          .split(',')
          .map(each => each.trim());
    return list.every(each => choices.includes(each)) ? list : undefined;
  },
};

function describeField({ name, type, choices, isRequired }: InboxField): string {
  const what =
    choices.length > 0 ? `${type} of ${choices.map(choice => `"${shown(choice)}"`).join(', ')}` : type;
  return `"${shown(name)}" (${what}${isRequired ? '' : ', may be left out'})`;
}

const shown = (text: string) => oneLine(visibleText(text), MAX_SHOWN_LENGTH);

const refused = (message: string, suggestion: string) =>
  new SquadError('ANSWER_INVALID', message, { suggestions: [suggestion] });

export function alreadyClosed(item: InboxItem): SquadError {
  const { id, state, answer, answeredBy, answeredAt } = item;
  return new SquadError('ALREADY_ANSWERED', `${id} ${describeClosing(item)}`, {
    suggestions: [
      'Nothing was changed. To tell the agent something else, reply to its run once it has ended.',
    ],
    details: { id, state, answer, answered_by: answeredBy, answered_at: answeredAt },
  });
}

/** How the item was closed, as the rest of a sentence. */
function describeClosing({ state, answer, answeredBy, withdrawnBecause }: InboxItem): string {
  const text = answer === null ? 'nothing' : `"${oneLine(visibleText(answer), 200)}"`;
  if (state === 'withdrawn') return `was withdrawn: ${whyWithdrawn(withdrawnBecause)}`;
  if (state === 'declined') return `was declined by ${whoAnswered(answeredBy)}`;
  if (state === 'expired') return `was not answered in time; its default was ${text}`;
  return `was already answered with ${text} by ${whoAnswered(answeredBy)}`;
}

/**
 * Error for an id that matches no item or several. `found` are the items whose ids begin with it, `others` all
 * candidates.
 */
export function unknownItem(
  given: string,
  found: readonly InboxItem[],
  others: readonly InboxItem[],
): SquadError {
  if (found.length > 1)
    return new SquadError(
      'INBOX_UNKNOWN',
      `${oneLine(visibleText(given), 60)} matches several ids: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(', ')}`,
      { suggestions: ['Give more characters of the id.'] },
    );
  const meant = didYouMean(
    given.slice(0, 40),
    others.map(({ id }) => id),
  );
  const open = others.filter(({ state }) => state === 'open').slice(0, 3);
  return new SquadError(
    'INBOX_UNKNOWN',
    `There is no question ${oneLine(visibleText(given), 60) || '(nothing)'}`,
    {
      suggestions: [
        meant ??
          (open.length > 0
            ? `Open now: ${open.map(({ id, question }) => `${id} (${oneLine(visibleText(question), 60)})`).join(', ')}.`
            : '`squad inbox --all` lists all questions.'),
      ],
    },
  );
}
