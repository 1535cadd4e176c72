import type { JsonSchema, RunError } from '../../schema/run.ts';
import { isOverCpuLimit, withCpuLimit } from '../cpu-limit.ts';
import { offThread, TookTooLong } from '../off-thread.ts';
import { longestStart } from './digest.ts';

const NEWEST = 'draft/2020-12';

/** Drafts of JSON Schema that MCP clients know, because they check every answer again. Draft 7 only extends draft 6. */
const CHECKERS = {
  [NEWEST]: async () => (await import('ajv/dist/2020.js')).Ajv2020,
  'draft/2019-09': async () => (await import('ajv/dist/2019.js')).Ajv2019,
  'draft-07': async () => (await import('ajv')).Ajv,
  'draft-06': async () => (await import('ajv')).Ajv,
};

/**
 * The checker for the draft that the schema names (default: the newest). Loaded on first use, because most runs have no
 * schema.
 */
async function checkerFor({ $schema = addressOf(NEWEST) }: JsonSchema) {
  const named = typeof $schema === 'string' ? $schema : '';
  const [, draft = ''] = /^https?:\/\/json-schema\.org\/(.+)\/schema#?$/.exec(named) ?? [];
  if (Object.hasOwn(CHECKERS, draft)) return CHECKERS[draft as keyof typeof CHECKERS]();
  throw new Error(
    `its "$schema" is ${JSON.stringify($schema).slice(0, MAX_SHOWN_LENGTH)}, which is not supported; supported are ${KNOWN}`,
  );
}

const addressOf = (draft: string): string => `https://json-schema.org/${draft}/schema`;

const MAX_SHOWN_LENGTH = 200;
const KNOWN = Object.keys(CHECKERS).map(addressOf).join(', ');

const MAX_PROBLEMS = 5;
/**
 * CPU time for compiling a schema and for checking a value. Both need milliseconds, but a backtracking pattern
 * would never end and block all other work.
 */
const MAX_COMPILE_MS = 3_000;
const MAX_CHECK_MS = 1_000;
/** Maximum number of patterns, because the compile time grows with the square of their number. */
const MAX_PATTERNS = 500;

/** Why the schema is invalid, or null. Also returns the names of unknown formats, which are not checked. */
export async function checkSchema(
  schema: JsonSchema,
): Promise<{ fault: string | null; unknownFormats: string[] }> {
  const unknown = new Set<string>();
  const fault = await faultOf(schema, name => unknown.add(name));
  return { fault, unknownFormats: [...unknown] };
}

async function faultOf(schema: JsonSchema, onUnknownFormat: (name: string) => void): Promise<string | null> {
  try {
    const Checker = await checkerFor(schema);
    // Formats are not checked: a `$ref` that resolves is good enough, even if it is no valid URI.
    const ajv = new Checker({ ...OPTIONS, validateFormats: false });
    if (withCpuLimit(MAX_COMPILE_MS, () => ajv.validateSchema(withoutDialect(schema))) !== true)
      return problemsOf(eachOnce(ajv.errors ?? []), 'the schema');
    await compile(schema, onUnknownFormat);
    return null;
  } catch (thrown) {
    return errorText(thrown);
  }
}

/** How a value differs from the schema. Null if it matches. */
export async function checkValue(schema: JsonSchema, value: unknown): Promise<string | null> {
  try {
    const check = await compile(schema);
    // Only `true` means a match: a schema can make the check return a promise.
    if (withCpuLimit(MAX_CHECK_MS, () => check(value)) === true) return null;
    return problemsOf(check.errors ?? [], 'the answer');
  } catch (thrown) {
    return `it could not be checked (${errorText(thrown)})`;
  }
}

interface Problem {
  instancePath: string;
  message?: string;
}

function problemsOf(problems: Problem[], whole: string): string {
  const words = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ instancePath, message }) => `${instancePath || whole} ${message}`);
  const more = problems.length - MAX_PROBLEMS;
  return words.join('; ') + (more > 0 ? ` and ${more} more` : '');
}

/** Removes duplicates: the meta-schemas overlap, so several of them report the same problem. */
const eachOnce = (problems: Problem[]): Problem[] => [
  ...new Map(
    problems.map(problem => [`${problem.instancePath} ${problem.message}`, problem] as const),
  ).values(),
];

/** Strict mode is off, because it rejects keywords that other programs add. */
const OPTIONS = { strict: false, allErrors: true, validateSchema: false, logger: false } as const;

async function compile(schema: JsonSchema, onUnknownFormat: (name: string) => void = () => {}) {
  const [Checker, { default: formats }] = await Promise.all([checkerFor(schema), import('ajv-formats')]);
  if (hasAsyncPart(schema)) throw new Error('$async is not part of JSON Schema');
  if (patternsIn(schema) > MAX_PATTERNS) throw new Error(`it has more than ${MAX_PATTERNS} patterns`);
  const warn = (text: string) => {
    const [, name] = /^unknown format "(.*)" ignored/s.exec(text) ?? [];
    if (name !== undefined) onUnknownFormat(name);
  };
  const ajv = new Checker({ ...OPTIONS, logger: { log() {}, warn, error() {} } });
  formats.default(ajv);
  return withCpuLimit(MAX_COMPILE_MS, () => ajv.compile(withoutDialect(schema)));
}

function hasAsyncPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  return '$async' in part || Object.values(part).some(hasAsyncPart);
}

function patternsIn(part: unknown): number {
  if (typeof part !== 'object' || part === null) return 0;
  const { pattern, patternProperties } = part as Partial<Record<string, unknown>>;
  const own = (typeof pattern === 'string' ? 1 : 0) + Object.keys(patternProperties ?? {}).length;
  return Object.values(part).reduce((sum, each) => sum + patternsIn(each), own);
}

/** Removes `$schema`. The checker was already chosen by it and accepts only one spelling of it. */
function withoutDialect({ $schema, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

const errorText = (thrown: unknown): string =>
  isOverCpuLimit(thrown) ? 'it takes too long' : ((thrown as { message?: string }).message ?? String(thrown));

/**
 * A short schema can take seconds (backtracking patterns, recursive references), so no schema is checked in the hub's
 * own thread.
 */
const ALWAYS = Number.POSITIVE_INFINITY;

/** Why the schema is invalid, or null. Reports unknown formats, which are not checked. */
export async function schemaFault(
  schema: JsonSchema,
  onUnknownFormat: (name: string) => void = () => {},
): Promise<string | null> {
  const checked = await offThread('schema', checkSchema, ALWAYS, schema).catch(reasonOf);
  if (typeof checked === 'string') return checked;
  for (const name of checked.unknownFormats) onUnknownFormat(name);
  return checked.fault;
}

const mismatch = (schema: JsonSchema, value: unknown): Promise<string | null> =>
  offThread('value by schema', checkValue, ALWAYS, schema, value).catch(
    (thrown: unknown) => `it could not be checked (${reasonOf(thrown)})`,
  );

function reasonOf(thrown: unknown): string {
  if (thrown instanceof TookTooLong) return 'it takes too long';
  return thrown instanceof Error ? thrown.message : String(thrown);
}

const SHOWN_TEXT = 1_000;

/** The answer as a value that matches the schema, or the error. The text itself stays the run's result. */
export async function structuredAnswer(
  schema: JsonSchema,
  answer: string,
  given: unknown,
): Promise<{ value: unknown } | { error: RunError }> {
  const value = given === undefined ? valueIn(withoutFence(answer)) : given;
  const fault = value === undefined ? 'it is not JSON' : await mismatch(schema, value);
  if (fault === null) return { value };
  const shown = answer === '' ? 'It said nothing.' : `It said: ${longestStart(answer, SHOWN_TEXT)}`;
  return {
    error: {
      code: 'OUTPUT_MISMATCH',
      message: `The answer does not match its output schema: ${fault}. ${shown}`,
    },
  };
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const FENCE = '```';

/** Removes a code fence, which models often put around a value. */
function withoutFence(answer: string): string {
  const text = answer.trim();
  const open = text.indexOf('\n');
  if (!text.startsWith(FENCE) || !text.endsWith(FENCE) || open < 0 || open > text.length - FENCE.length)
    return answer;
  const language = text.slice(FENCE.length, open).trim();
  return language === '' || language === 'json' ? text.slice(open, -FENCE.length) : answer;
}
