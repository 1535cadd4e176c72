import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { z } from 'zod';
import { nearest } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';

type Issue = z.core.$ZodIssue;
type Path = (string | number)[];

/** Maximum number of reported problems, because finding the place of each takes a search through the file. */
const MAX_PROBLEMS = 100;
const first = <T>(list: readonly T[]): readonly T[] => list.slice(0, MAX_PROBLEMS);

/** Errors that a schema finds, each with its place in the file and suggested names. */
export function problemsOf(tree: Node, schema: z.ZodType, issues: readonly Issue[]): JsonProblem[] {
  return first(issues)
    .flatMap(issue => problemsOfIssue(tree, schema, [], issue))
    .sort((one, other) => one.offset - other.offset);
}

/** Offset of the key or value at a path. If it is missing, offset of the nearest value around it. */
export function offsetAt(tree: Node, path: Path, ofKey = false): number {
  for (let length = path.length; length >= 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node) return (ofKey && length === path.length ? node.parent?.offset : undefined) ?? node.offset;
  }
  return tree.offset;
}

/** Keys that the schema knows at a path. */
export const keysAt = (schema: z.ZodType, path: Path): string[] =>
  Object.keys(shapeOf(unwrapped(schemaAt(schema, path))) ?? {});

/** The description that a schema has for a path. */
export const describedAt = (schema: z.ZodType, path: Path): string | undefined =>
  schemaAt(schema, path)?.description;

function problemsOfIssue(tree: Node, schema: z.ZodType, base: Path, issue: Issue): JsonProblem[] {
  const inner = issue.path.filter(step => typeof step !== 'symbol') as Path;
  const path = [...base, ...inner];
  const found = unwrapped(schemaAt(schema, inner));
  if (found instanceof z.ZodUnion && (issue.code === 'unrecognized_keys' || issue.code === 'invalid_union'))
    return problemsOfUnion(tree, found, path);
  if (issue.code === 'unrecognized_keys')
    return first(issue.keys).map(key => unknownKey(tree, [...path, key], Object.keys(shapeOf(found) ?? {})));
  if (issue.code === 'invalid_key') {
    const why = issue.issues[0]?.message ?? issue.message;
    return [
      { offset: offsetAt(tree, path, true), message: `the name "${path.at(-1)}" is wrong: ${why}` },
      ...problemsOfValue(tree, found, path),
    ];
  }
  if (issue.code === 'invalid_type' && path.length > 0 && !findNodeAtLocation(tree, path))
    return [{ offset: offsetAt(tree, path), message: `"${path.join('.')}" is missing` }];
  return [problemAt(tree, path, issue.message)];
}

/** Checks the value of a key with an invalid name, which the schema has skipped. */
function problemsOfValue(tree: Node, schema: z.ZodType | undefined, path: Path): JsonProblem[] {
  const node = schema && findNodeAtLocation(tree, path);
  const issues = (node && schema.safeParse(getNodeValue(node)).error?.issues) ?? [];
  return first(issues).flatMap(issue => problemsOfIssue(tree, schema!, path, issue));
}

function problemAt(tree: Node, path: Path, message: string): JsonProblem {
  const what = path.length > 0 ? `"${path.join('.')}" is wrong: ` : '';
  return { offset: offsetAt(tree, path), message: `${what}${message}` };
}

function unknownKey(tree: Node, path: Path, known: string[]): JsonProblem {
  const key = String(path.at(-1));
  const near = nearest(key, known);
  return {
    offset: offsetAt(tree, path, true),
    message: `the key "${key}" is not known${path.length > 1 ? ` in "${path.slice(0, -1).join('.')}"` : ''}`,
    suggestion: near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The keys are: ${known.join(', ')}.`,
  };
}

/** Problems of a union: those of the variant that matches the value best. */
function problemsOfUnion(tree: Node, union: z.ZodUnion, path: Path): JsonProblem[] {
  const node = findNodeAtLocation(tree, path);
  const value: unknown = node && getNodeValue(node);
  const forms = union.options.map(option => ({
    schema: unwrapped(option as z.ZodType),
    issues: (option as z.ZodType).safeParse(value).error?.issues ?? [],
  }));
  const shapes = forms.map(form => shapeOf(form.schema));
  if (node?.type !== 'object' || shapes.includes(null)) {
    // The variant of a union with the value's JSON type reports more specific problems than the others.
    const fitting = forms.find(({ issues }) => !issues.some(isOfKind));
    if (fitting)
      return first(fitting.issues).flatMap(issue => problemsOfIssue(tree, fitting.schema, path, issue));
    return [
      problemAt(tree, path, `must be ${kindNames(forms.flatMap(({ issues }) => issues.filter(isOfKind)))}`),
    ];
  }
  const keys = (node.children ?? []).map(property => String(property.children?.[0]?.value));
  const known = [...new Set(shapes.flatMap(shape => Object.keys(shape ?? {})))];
  const unknownKeys = first(keys.filter(key => !known.includes(key))).map(key =>
    unknownKey(tree, [...path, key], known),
  );
  const types = forms.map(({ issues }) => issues.find(isOfType));
  const isOfNoType = types.every(issue => issue !== undefined);
  const wrongType = isOfNoType
    ? [problemAt(tree, [...path, 'type'], `must be one of ${types.flatMap(valuesOf).join(', ')}`)]
    : [];
  const likely = forms
    .filter((_, index) => isOfNoType || types[index] === undefined)
    .map(form => ({ ...form, has: keys.filter(key => key in (shapeOf(form.schema) ?? {})).length }))
    .sort((one, other) => other.has - one.has)[0]!;
  // A misspelt key may be the key that the variant requires.
  const isGuess = isOfNoType || unknownKeys.length > 0;
  if (likely.has === 0)
    return isGuess
      ? [...unknownKeys, ...wrongType]
      : [problemAt(tree, path, `needs ${known.map(key => `"${key}"`).join(' or ')}`)];
  const title = likely.schema.meta()?.title;
  const taken = title ? ` (taken for ${title}: its "type" is ${typeText(node)})` : '';
  const issues = likely.issues.filter(
    issue =>
      !isGuess || !(isOfType(issue) || isMissing(tree, path, issue) || issue.code === 'unrecognized_keys'),
  );
  return [
    ...unknownKeys,
    ...wrongType,
    ...first(issues).flatMap(issue =>
      issue.code === 'unrecognized_keys' && issue.path.length === 0
        ? first(issue.keys).map(key => ({
            offset: offsetAt(tree, [...path, key], true),
            message: `"${[...path, key].join('.')}" does not go with ${title ? 'this type' : `"${keys.find(each => each !== key)}"`}${taken}`,
          }))
        : problemsOfIssue(tree, likely.schema, path, issue).map(problem => ({
            ...problem,
            message: `${problem.message}${isGuess ? '' : taken}`,
          })),
    ),
  ];
}

const isMissing = (tree: Node, path: Path, issue: Issue): boolean =>
  issue.code === 'invalid_type' &&
  !findNodeAtLocation(tree, [...path, ...(issue.path.filter(step => typeof step !== 'symbol') as Path)]);
const isOfKind = (issue: Issue) => issue.path.length === 0 && issue.code === 'invalid_type';
const isOfType = (issue: Issue) => issue.code === 'invalid_value' && issue.path.join('.') === 'type';
const valuesOf = (issue: Issue | undefined) =>
  issue?.code === 'invalid_value' ? issue.values.map(String) : [];

function kindNames(issues: Issue[]): string {
  const kinds = issues.flatMap(issue => (issue.code === 'invalid_type' ? issue.expected : []));
  return [...new Set(kinds.map(kind => KINDS[kind] ?? kind))].join(' or ');
}

const KINDS: Partial<Record<string, string>> = { string: 'text', array: 'a list', object: 'an object' };

function typeText(node: Node): string {
  const type = findNodeAtLocation(node, ['type']);
  return type ? JSON.stringify(type.value) : 'not given';
}

/** The schema at a path. Stops at unions, because only `problemsOfUnion` knows the variant. */
function schemaAt(schema: z.ZodType, path: Path): z.ZodType | undefined {
  return path.reduce<z.ZodType | undefined>((around, step) => {
    const holder = unwrapped(around);
    if (holder instanceof z.ZodObject) return holder.shape[step] as z.ZodType | undefined;
    if (holder instanceof z.ZodRecord) return holder.valueType as z.ZodType;
    if (holder instanceof z.ZodArray) return holder.element as z.ZodType;
    return undefined;
  }, schema);
}

function unwrapped(schema: z.ZodType): z.ZodType;
function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined;
function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional)
    return unwrapped(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodPipe ? unwrapped(schema.in as z.ZodType) : schema;
}

const shapeOf = (schema: z.ZodType | undefined): Record<string, unknown> | null =>
  schema instanceof z.ZodObject ? schema.shape : null;

/** A problem in a JSON file, at an offset of its text. */
export interface JsonProblem {
  offset: number;
  message: string;
  suggestion?: string;
}

/** Limit of nesting. Squad's files are never nested this deeply, and the parser needs one stack frame per level. */
const MAX_DEPTH = 64;
/** Parses a text and refuses repeated keys, because programs disagree on which of them counts. */
export function parseJsonTree(
  text: string,
  /** True to allow comments and trailing commas. */
  isRelaxed = false,
): { tree: Node } | { problems: [JsonProblem, ...JsonProblem[]] } {
  const tooDeep = depthProblem(text);
  if (tooDeep) return { problems: [tooDeep] };
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: !isRelaxed, allowTrailingComma: isRelaxed });
  const [error] = errors;
  if (text.trim() === '') return { problems: [{ offset: 0, message: 'the file is empty' }] };
  if (error || !tree) return { problems: [{ offset: error?.offset ?? 0, message: parseErrorText(error) }] };
  const [problem, ...more] = keyProblems(tree);
  return problem ? { problems: [problem, ...more.slice(0, MAX_PROBLEMS - 1)] } : { tree };
}

/** The first syntax error. Null if the text is valid JSON. */
export function jsonProblem(text: string): JsonProblem | null {
  const parsed = parseJsonTree(text);
  return 'problems' in parsed ? parsed.problems[0] : null;
}

export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

/** Counts brackets without parsing. */
function depthProblem(text: string): JsonProblem | null {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const offset = scanner.getTokenOffset();
    const first = text[offset];
    if (first === '{' || first === '[') depth++;
    else if (first === '}' || first === ']') depth--;
    if (depth > MAX_DEPTH) return { offset, message: `nested deeper than ${MAX_DEPTH} levels` };
  }
  return null;
}

function keyProblems(node: Node): JsonProblem[] {
  const seen = new Set<unknown>();
  return (node.children ?? []).flatMap(child => {
    const key = child.type === 'property' ? child.children?.[0] : undefined;
    const problems: JsonProblem[] = [];
    if (key && seen.has(key.value))
      problems.push({
        offset: key.offset,
        message: `the key "${String(key.value)}" is repeated`,
      });
    // The key `__proto__` has a special meaning in JavaScript, and some readers skip it.
    if (key?.value === '__proto__')
      problems.push({ offset: key.offset, message: 'the key "__proto__" is not allowed' });
    if (key) seen.add(key.value);
    return [...problems, ...keyProblems(child)];
  });
}

/** Turns `CommaExpected` into `comma expected`. */
function parseErrorText(error: ParseError | undefined): string {
  if (!error) return 'value expected';
  return printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}

type CheckedJson<T> = { value: T; tree: Node } | { problems: [JsonProblem, ...JsonProblem[]] };

/** Checks the content of a settings file and returns all problems, or the parsed value. */
export function checkJson<T>(text: string, schema: z.ZodType<T>, isRelaxed = false): CheckedJson<T> {
  const parsed = parseJsonTree(text, isRelaxed);
  if ('problems' in parsed) return parsed;
  const { tree } = parsed;
  const checked = schema.safeParse(getNodeValue(tree));
  if (checked.success) return { value: checked.data, tree };
  return { problems: problemsOf(tree, schema, checked.error.issues) as [JsonProblem, ...JsonProblem[]] };
}

/** Like `checkJson`, but throws the first problem, with its line and column. */
export function parseJsonFile<T>(file: string, text: string, schema: z.ZodType<T>, isRelaxed = false): T {
  const checked = checkJson(text, schema, isRelaxed);
  if ('value' in checked) return checked.value;
  const [problem] = checked.problems;
  throw new SquadError('CONFIG_INVALID', problemText(file, text, problem), {
    suggestions: [problem.suggestion ?? `Fix ${file}, then try again.`],
  });
}

export function problemText(file: string, text: string, { offset, message }: JsonProblem): string {
  const { line, column } = placeOf(text, offset);
  return `${file}, line ${line}, column ${column}: ${message}.`;
}
