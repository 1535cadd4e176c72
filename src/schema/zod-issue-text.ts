import type { z } from 'zod';

/** Describes an issue as a clause that follows the value's name: for `safeParse(value, { error: describeZodIssue })`. */
export const describeZodIssue: z.core.$ZodErrorMap = issue => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `is missing; it must be ${kindText(issue.expected)}`
        : `must be ${kindText(issue.expected)}${butNot(issue.input)}`;
    case 'invalid_value':
      return `${issue.input === undefined ? 'is missing; it ' : ''}must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return describeTooSmall(issue);
    case 'too_big':
      return `must ${amount(issue.origin, issue.inclusive === false ? 'fewer than' : 'at most', issue.maximum)}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.format === 'regex'
        ? `must be of the form ${issue.pattern}`
        : `must be of the form ${issue.format}`;
    case 'unrecognized_keys':
      return `must not have ${issue.keys.map(key => JSON.stringify(key)).join(', ')}`;
    case 'invalid_key':
      return 'has an invalid name';
    case 'invalid_union':
      return describeUnion(issue.errors, issue.input);
    default:
      return undefined;
  }
};

function describeTooSmall({
  origin,
  minimum,
  inclusive,
}: Pick<z.core.$ZodIssueTooSmall, 'origin' | 'minimum' | 'inclusive'>): string {
  if (Number(minimum) === 1 && inclusive !== false && (origin === 'string' || origin === 'array'))
    return 'must not be empty';
  return `must ${amount(origin, inclusive === false ? 'more than' : 'at least', minimum)}`;
}

function amount(origin: string, bound: string, count: number | bigint): string {
  if (origin === 'string') return `have ${bound} ${count} characters`;
  if (origin === 'array' || origin === 'set') return `have ${bound} ${count} entries`;
  return `be ${bound} ${count}`;
}

/**
 * Describes a value that fits no variant of a union: the problem with the first variant of the same kind, or else the
 * kinds of all variants.
 */
function describeUnion(forms: readonly (readonly z.core.$ZodIssue[])[], input: unknown): string {
  const isOfKind = (issue: z.core.$ZodIssue) => issue.path.length === 0 && issue.code === 'invalid_type';
  const fitting = forms.find(issues => !issues.some(isOfKind));
  if (fitting?.[0]) return fitting[0].message;
  const kinds = forms
    .flat()
    .flatMap(issue => (issue.code === 'invalid_type' ? kindText(issue.expected) : []));
  const wanted = `must be ${[...new Set(kinds)].join(' or ')}`;
  return input === undefined ? `is missing; it ${wanted}` : `${wanted}${butNot(input)}`;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const kindText = (kind: string): string => (Object.hasOwn(KINDS, kind) ? KINDS[kind]! : kind);

/** Does not quote the value, which may be a secret. */
function butNot(input: unknown): string {
  if (input === null) return ', not null';
  if (Array.isArray(input)) return ', not a list';
  if (typeof input === 'number' && !Number.isInteger(input)) return ', not a fraction';
  return typeof input === 'boolean' ? ', not true or false' : `, not ${kindText(typeof input)}`;
}
