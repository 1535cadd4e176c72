import type { z } from 'zod';

/** What a value must be, in words that are read after its name: for `safeParse(value, { error: problemWords })`. */
export const describeZodIssue: z.core.$ZodErrorMap = issue => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `is missing; it must be ${kindWord(issue.expected)}`
        : `must be ${kindWord(issue.expected)}${unlike(issue.input)}`;
    case 'invalid_value':
      return `${issue.input === undefined ? 'is missing; it ' : ''}must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return smallWords(issue);
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
      return 'has a name that it cannot have';
    case 'invalid_union':
      return unionWords(issue.errors, issue.input);
    default:
      return undefined;
  }
};

function smallWords({
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

/** Of several forms, the kinds they are of; a form of the right kind says what is the matter itself. */
function unionWords(forms: readonly (readonly z.core.$ZodIssue[])[], input: unknown): string {
  const isOfKind = (issue: z.core.$ZodIssue) => issue.path.length === 0 && issue.code === 'invalid_type';
  const fitting = forms.find(issues => !issues.some(isOfKind));
  if (fitting?.[0]) return fitting[0].message;
  const kinds = forms
    .flat()
    .flatMap(issue => (issue.code === 'invalid_type' ? kindWord(issue.expected) : []));
  const wanted = `must be ${[...new Set(kinds)].join(' or ')}`;
  return input === undefined ? `is missing; it ${wanted}` : `${wanted}${unlike(input)}`;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object with names and values',
  record: 'an object with names and values',
  null: 'null',
};

const kindWord = (kind: string): string => (Object.hasOwn(KINDS, kind) ? KINDS[kind]! : kind);

/** The value itself is not repeated: it may be a secret. */
function unlike(input: unknown): string {
  if (input === null) return ', not null';
  if (Array.isArray(input)) return ', not a list';
  if (typeof input === 'number' && !Number.isInteger(input)) return ', not a fraction';
  return typeof input === 'boolean' ? ', not true or false' : `, not ${kindWord(typeof input)}`;
}
