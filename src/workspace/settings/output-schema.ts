import { offThread } from '../../core/off-thread.ts';
import { schemaFault } from '../../core/output/json-schema.ts';
import { SquadError } from '../../schema/error.ts';
import { JsonSchema } from '../../schema/run.ts';
import { jsonProblem, placeOf } from '../files/json-tree.ts';
import { readInside } from '../files/read-inside.ts';

const LARGEST = 256 * 1024;

/** The schema an answer has to follow, from a file of the workspace. */
export async function readOutputSchema(root: string, file: string): Promise<JsonSchema> {
  const text = await readInside(root, file, LARGEST).catch(thrown => {
    throw refuse(file, thrown instanceof Error ? thrown.message : String(thrown));
  });
  // By line and column: the parser of the engine would quote from the file, which may be any of the workspace.
  const problem = await offThread('json', jsonProblem, text.length, text);
  if (problem) {
    const { line, column } = placeOf(text, problem.offset);
    throw refuse(file, `is not JSON: line ${line}, column ${column}: ${problem.message}`);
  }
  const parsed = JsonSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw refuse(file, 'is not an object');
  const fault = await schemaFault(parsed.data);
  if (fault !== null) throw refuse(file, `is not a JSON Schema: ${fault}`);
  return parsed.data;
}

const refuse = (file: string, why: string) =>
  new SquadError('SCHEMA_INVALID', `The output schema ${file} ${why}`, {
    suggestions: [
      'Give the path of a JSON Schema file inside the workspace, relative to its root. Nothing was started.',
    ],
  });
