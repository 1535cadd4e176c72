import type { JsonSchema } from '../../schema/run.ts';
import { offThread, TookTooLong } from '../off-thread.ts';
import { checkSchema, checkValue } from './schema-check.ts';

/** A short schema can take seconds: a pattern that backtracks, references to itself. So none is checked in the hub's own thread. */
const ALWAYS = Number.POSITIVE_INFINITY;

/** Why this is no schema to check with, or null. Formats that nobody knows are reported: they are not checked. */
export async function schemaFault(
  schema: JsonSchema,
  onUnknownFormat: (name: string) => void = () => {},
): Promise<string | null> {
  const checked = await offThread('schema', checkSchema, ALWAYS, schema).catch(reasonOf);
  if (typeof checked === 'string') return checked;
  for (const name of checked.unknownFormats) onUnknownFormat(name);
  return checked.fault;
}

/** How a value differs from the schema; null when it does not. */
export const mismatch = (schema: JsonSchema, value: unknown): Promise<string | null> =>
  offThread('value by schema', checkValue, ALWAYS, schema, value).catch(
    (thrown: unknown) => `it could not be checked (${reasonOf(thrown)})`,
  );

function reasonOf(thrown: unknown): string {
  if (thrown instanceof TookTooLong) return 'it takes too long';
  return thrown instanceof Error ? thrown.message : String(thrown);
}
