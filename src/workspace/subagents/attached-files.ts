import { resolve } from 'node:path';
import { offThread } from '../../core/off-thread.ts';
import { schemaFault } from '../../core/output/json-schema.ts';
import { JsonSchema } from '../../schema/run.ts';
import { jsonProblem, placeOf } from '../files/json-tree.ts';
import { readTextFile } from '../files/text-file.ts';
import type { Findings } from './findings.ts';
import { filled, type Variables } from './variables.ts';
import type { Path } from './yaml-source.ts';

/** What the model is told first; null, and said, when it cannot be read. */
export async function readPrompt(
  given: string,
  path: Path,
  variables: Variables,
  findings: Findings,
): Promise<string | null> {
  const found = await readAttached(given, path, variables, findings, 'CONFIG_INVALID');
  if (found === null) return null;
  const { file, text } = found;
  if (text.trim() === '') findings.warn(path, `the prompt ${file} is empty`);
  const at = text.indexOf('{{');
  if (at >= 0) {
    const { line } = placeOf(text, at);
    findings.warn(
      path,
      `the prompt ${file} has "{{" in line ${line}: templates are not evaluated, the model reads it as it is`,
      { suggestion: 'Write out what the template would say.' },
    );
  }
  return text;
}

/** The schema of what the tool returns; null, and said, when it is none. */
export async function readAnswerSchema(
  given: string,
  path: Path,
  variables: Variables,
  findings: Findings,
): Promise<JsonSchema | null> {
  const found = await readAttached(given, path, variables, findings, 'SCHEMA_INVALID');
  if (found === null) return null;
  const { file, text } = found;
  const refuse = (why: string, suggestion?: string) => {
    findings.error(path, `the output schema ${file} ${why}`, { code: 'SCHEMA_INVALID', suggestion });
    return null;
  };
  const problem = await offThread('json', jsonProblem, text.length, text);
  if (problem) {
    const { line, column } = placeOf(text, problem.offset);
    return refuse(`is not JSON: line ${line}, column ${column}: ${problem.message}`);
  }
  const schema = JsonSchema.safeParse(JSON.parse(text));
  if (!schema.success) return refuse('is not a JSON object');
  const unknown = new Set<string>();
  const fault = await schemaFault(schema.data, format => unknown.add(format));
  if (fault !== null)
    return refuse(
      `is not a JSON Schema: ${fault}`,
      schema.data.$schema === undefined
        ? 'It names no "$schema", so it is read as draft 2020-12; name the draft if it is of another.'
        : undefined,
    );
  for (const format of unknown)
    findings.warn(path, `the output schema ${file} has the format "${format}", which nobody checks`);
  // What a tool returns as structured content is always an object.
  if (schema.data.type !== 'object')
    return refuse(
      'is not the schema of an object',
      'Say "type": "object" at its root; a list goes into a property of it.',
    );
  return schema.data;
}

const MAX_SCHEMA_BYTES = 256 * 1024;

async function readAttached(
  given: string,
  path: Path,
  variables: Variables,
  findings: Findings,
  code: 'CONFIG_INVALID' | 'SCHEMA_INVALID',
): Promise<{ file: string; text: string } | null> {
  const name = filled(given, path, variables, findings);
  if (name === null) return null;
  const file = resolve(variables.folder, name);
  const read = await readTextFile(file, code === 'SCHEMA_INVALID' ? MAX_SCHEMA_BYTES : undefined);
  if ('text' in read) return { file, text: read.text };
  const why = 'missing' in read ? 'does not exist' : read.fault;
  findings.error(path, `${file} ${why}`, {
    code,
    suggestion: `Paths are relative to the folder of the file that names them, ${variables.folder}.`,
  });
  return null;
}
