import type { JsonSchema } from '../schema/run.ts';

const MOST_PROBLEMS = 5;

/** Why this is no schema to check with, or null. */
export async function schemaFault(schema: JsonSchema): Promise<string | null> {
  try {
    await compile(schema);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** What of a value is against the schema, in words; null when nothing is. */
export async function mismatch(schema: JsonSchema, value: unknown): Promise<string | null> {
  const check = await compile(schema);
  if (check(value)) return null;
  const problems = check.errors ?? [];
  const words = problems
    .slice(0, MOST_PROBLEMS)
    .map(({ instancePath, message }) => `${instancePath || 'the answer'} ${message}`);
  return (
    words.join('; ') + (problems.length > MOST_PROBLEMS ? ` and ${problems.length - MOST_PROBLEMS} more` : '')
  );
}

/** Loaded on first use: most runs have no schema. */
async function compile(schema: JsonSchema) {
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  // Strict mode refuses keywords other programs add; formats are notes, not checks.
  return new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(
    withoutDialect(schema),
  );
}

/** Draft 7 schemas name their dialect; what they say means the same here. */
function withoutDialect({ $schema, ...rest }: JsonSchema): JsonSchema {
  return rest;
}
