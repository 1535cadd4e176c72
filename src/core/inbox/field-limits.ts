import { runInNewContext } from 'node:vm';
import type { InboxField } from '../../schema/inbox.ts';

type Json = Record<string, unknown>;
type Limits = Pick<
  InboxField,
  'isInteger' | 'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'pattern' | 'format'
>;

const LONGEST_PATTERN = 500;
/** Of processor time. On a busy machine a harmless pattern can take as long by the clock, so time-outs are repeated until this is used up. */
const PATTERN_CPU_MS = 50;
const MAX_PATTERN_TRIES = 20;
const FORMATS: Record<string, (text: string) => boolean> = {
  email: text => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: text => URL.canParse(text),
  date: text => /^\d{4}-\d\d-\d\d$/.test(text) && isTime(text),
  'date-time': text =>
    /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text) && isTime(text),
};

/** What a server's schema wants of a value, as far as it can be checked here. */
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
      pattern.length <= LONGEST_PATTERN &&
      isPattern(pattern) && { pattern }),
    ...(typeof format === 'string' && Object.hasOwn(FORMATS, format) && { format }),
  };
}

/** What is wrong with a value, as the rest of a sentence; null: nothing. */
export function outsideLimits(limits: Limits, value: unknown): string | null {
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

/** The pattern is a server's, and one can take for ever: only a script can be stopped. What cannot be told is the server's to refuse. */
function matches(pattern: string, text: string): boolean {
  const before = process.threadCpuUsage();
  for (let tries = 0; tries < MAX_PATTERN_TRIES; tries++) {
    try {
      const options = { timeout: PATTERN_CPU_MS };
      return runInNewContext('new RegExp(pattern, "u").test(text)', { pattern, text }, options);
    } catch {
      const { user, system } = process.threadCpuUsage(before);
      if ((user + system) / 1_000 >= PATTERN_CPU_MS) return true;
    }
  }
  return true;
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') !== null;
  } catch {
    return false;
  }
}

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));
