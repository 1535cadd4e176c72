import { Script } from 'node:vm';
import type { JsonSchema } from '../schema/run.ts';

const MOST_PROBLEMS = 5;
/** Both take milliseconds on a quiet machine. A pattern that backtracks would take for ever, and everybody would wait for it. */
const LONGEST_COMPILE_MS = 3_000;
const LONGEST_CHECK_MS = 1_000;

/** Why this is no schema to check with, or null. */
export async function schemaFault(schema: JsonSchema): Promise<string | null> {
  try {
    await compile(schema);
    return null;
  } catch (thrown) {
    return wordsOf(thrown);
  }
}

/** What of a value is against the schema, in words; null when nothing is. */
export async function mismatch(schema: JsonSchema, value: unknown): Promise<string | null> {
  try {
    const check = await compile(schema);
    // Anything but true is no yes: a schema can be written so that the check gives a promise.
    if (bounded(() => check(value), LONGEST_CHECK_MS) === true) return null;
    return problemsOf(check.errors ?? []);
  } catch (thrown) {
    return `it could not be checked (${wordsOf(thrown)})`;
  }
}

function problemsOf(problems: { instancePath: string; message?: string }[]): string {
  const words = problems
    .slice(0, MOST_PROBLEMS)
    .map(({ instancePath, message }) => `${instancePath || 'the answer'} ${message}`);
  const more = problems.length - MOST_PROBLEMS;
  return words.join('; ') + (more > 0 ? ` and ${more} more` : '');
}

/** Loaded on first use: most runs have no schema. */
async function compile(schema: JsonSchema) {
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  if (hasAsyncPart(schema)) throw new Error('$async is not part of JSON Schema');
  // Strict mode refuses keywords other programs add; formats are notes, not checks.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  return bounded(() => ajv.compile(withoutDialect(schema)), LONGEST_COMPILE_MS);
}

function hasAsyncPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  return '$async' in part || Object.values(part).some(hasAsyncPart);
}

/** Draft 7 schemas name their dialect; what they say means the same here. */
function withoutDialect({ $schema, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

const CALL = new Script('globalThis.__squadBounded()');

/** Cut off, wherever it is, when its time is up. */
function bounded<T>(act: () => T, timeout: number): T {
  const room = globalThis as { __squadBounded?: () => void };
  let result: { value: T } | null = null;
  room.__squadBounded = () => {
    result = { value: act() };
  };
  try {
    CALL.runInThisContext({ timeout });
    return result!.value;
  } finally {
    delete room.__squadBounded;
  }
}

function wordsOf(thrown: unknown): string {
  const { code, message } = thrown as { code?: string; message?: string };
  return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? 'it takes too long' : (message ?? String(thrown));
}
