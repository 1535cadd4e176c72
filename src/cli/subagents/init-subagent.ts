import { join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { TOOL_NAME } from '../../schema/subagent-names.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { squadProgram } from '../package-files.ts';
import { movedHome } from '../setup/install/clients.ts';
import { layFile, laySubagentSchema } from '../setup/starter-file.ts';
import { printJson } from '../terminal/json.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { subagentStarters } from './subagent-starters.ts';

const SCHEMA_PATH = '.squad/subagent.schema.json';

/** `squad init --subagent NAME [--schema]`: the files of a new subagent. Never overwrites. */
export async function initSubagent(
  name: string,
  { schema: hasSchema = false }: { schema?: boolean },
  context: CliContext,
): Promise<number> {
  if (!TOOL_NAME.test(name))
    throw new SquadError('INVALID_INPUT', `${JSON.stringify(name)} cannot be the name of a tool`, {
      suggestions: ['Use 1 to 64 letters, digits, _ and -: squad init --subagent review_changes'],
    });
  const root = workspaceRoot(context.workspace);
  const written: string[] = [];
  const kept: string[] = [];
  const starters = subagentStarters(name, { hasSchema, schemaPath: `./${SCHEMA_PATH}`, env: process.env });
  for (const { file, text } of starters)
    ((await layFile(join(root, file), text)) ? written : kept).push(file);
  ((await laySubagentSchema(join(root, SCHEMA_PATH))) ? written : kept).push(SCHEMA_PATH);

  const file = join(root, `${name}.subagent.yaml`);
  const { node, script } = squadProgram();
  const env = movedHome(process.env);
  const entry = {
    ...{ command: node, args: [script, 'mcp', 'serve', '--config', file] },
    ...(Object.keys(env).length > 0 && { env }),
  };
  if (context.json) printJson(context.out, { root, written, kept, entry });
  else
    print(context, [
      ...written.map(each => `wrote ${each}`),
      ...kept.map(each => `kept  ${each}`),
      '',
      `What the tool is for stands in ${name}.subagent.yaml, how it works in ${name}.prompt.md.`,
      'Next:',
      `  squad config lint ${shellWord(`${name}.subagent.yaml`)}`,
      "and for your MCP client's configuration:",
      `  "${name}": ${JSON.stringify(entry)}`,
    ]);
  return EXIT.done;
}
