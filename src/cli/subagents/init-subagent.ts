import { join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { SUBAGENT_MODEL_TYPES, TOOL_NAME } from '../../schema/subagent-names.ts';
import { workspaceRoot } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { withOwnCommand } from '../own-command.ts';
import { squadProgram, writeStarterFile, writeSubagentSchema } from '../package-files.ts';
import { movedDatabase, movedHome } from '../setup/install/clients.ts';

/** Starter files of a subagent, which work without changes. */
export function subagentStarters(
  name: string,
  options: { hasSchema: boolean; schemaPath: string; env: Readonly<Record<string, string | undefined>> },
): { file: string; text: string }[] {
  const { hasSchema } = options;
  return [
    { file: `${name}.subagent.yaml`, text: config(name, options) },
    { file: `${name}.prompt.md`, text: prompt(hasSchema) },
    ...(hasSchema ? [{ file: `${name}.schema.json`, text: SCHEMA }] : []),
  ];
}

const MODELS = [
  {
    ref: 'sonnet',
    display: 'Claude Sonnet',
    id: 'claude-sonnet-4-5',
    type: 'anthropic',
    key: 'ANTHROPIC_API_KEY',
  },
  { ref: 'gpt', display: 'GPT-5', id: 'gpt-5', type: 'responses', key: 'OPENAI_API_KEY' },
  { ref: 'gemini', display: 'Gemini Pro', id: 'gemini-2.5-pro', type: 'gemini', key: 'GEMINI_API_KEY' },
] as const;

function config(
  name: string,
  { hasSchema, schemaPath, env }: Parameters<typeof subagentStarters>[1],
): string {
  // The first model whose key is set, so that the file works at once.
  const model = MODELS.find(({ key }) => env[key]) ?? MODELS[0];
  return `# yaml-language-server: $schema=${schemaPath}
# One subagent: a tool named ${name} for any MCP client.
#   squad config lint ${shellWord(`${name}.subagent.yaml`)}
#   squad mcp serve --config ${shellWord(`${name}.subagent.yaml`)}
version: "1.0"

models:
  - ref: ${model.ref}
    display_name: "${model.display}"
    id: ${model.id}
    type: ${model.type} # or ${otherTypes(model.type)}
    api_key_env: ${model.key} # the variable that holds the key
    # base_url: http://127.0.0.1:11434/v1 # another server that speaks the same format

subagent:
  name: ${name}
  # All that the calling agent knows about the tool: what it does, what to pass, what it returns.
  description: >-
    Reads what it is given and answers one question about it. Put the question into "prompt" and the
    paths of the files it is about into "inputs".
${hasSchema ? `  outputSchemaPath: ./${name}.schema.json\n` : ''}
defaults:
  model: ${model.ref}
  systemPromptPath: ./${name}.prompt.md
  timeout: 10m
  maxTurns: 50
  codeMode:
    enabled: false

# Its tools. Each server is started for this subagent alone; without servers it has no tools.
# mcpServers:
#   filesystem:
#     type: stdio
#     command: npx
#     args: ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "."]
`;
}

const otherTypes = (type: string): string => SUBAGENT_MODEL_TYPES.filter(other => other !== type).join(', ');

const prompt = (hasSchema: boolean): string => `You answer one question about the material you are given.

- Read all of the material before you answer.
- Say only what the material supports, and name the file and line you take it from.
- If the material does not answer the question, say what is missing instead of guessing.
${
  hasSchema
    ? '- End by calling `final_answer` with the answer and the evidence for it.\n'
    : '- Begin with the answer in one sentence; the caller sees only your last message.\n'
}`;

const SCHEMA = `${JSON.stringify(
  {
    type: 'object',
    additionalProperties: false,
    required: ['answer', 'evidence'],
    properties: {
      answer: { type: 'string', description: 'The answer, in one or two sentences.' },
      evidence: {
        type: 'array',
        description: 'Evidence for the answer.',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['file', 'quote'],
          properties: {
            file: { type: 'string' },
            line: { type: 'integer', minimum: 1 },
            quote: { type: 'string' },
          },
        },
      },
    },
  },
  null,
  2,
)}\n`;

const SCHEMA_PATH = '.squad/subagent.schema.json';

/** `squad init --subagent NAME [--schema]`: creates the files of a subagent. Never overwrites. */
export async function initSubagent(
  name: string,
  { schema: hasSchema = false }: { schema?: boolean },
  context: CliContext,
): Promise<number> {
  if (!TOOL_NAME.test(name))
    throw new SquadError('INVALID_INPUT', `${JSON.stringify(name)} is not a valid tool name`, {
      suggestions: [
        'Use 1 to 64 letters, digits, _ or -, for example `squad init --subagent review_changes`.',
      ],
    });
  const root = workspaceRoot(context.workspace);
  const written: string[] = [];
  const kept: string[] = [];
  const starters = subagentStarters(name, { hasSchema, schemaPath: `./${SCHEMA_PATH}`, env: process.env });
  for (const { file, text } of starters)
    ((await writeStarterFile(join(root, file), withOwnCommand(text))) ? written : kept).push(file);
  ((await writeSubagentSchema(join(root, SCHEMA_PATH))) ? written : kept).push(SCHEMA_PATH);

  const file = join(root, `${name}.subagent.yaml`);
  const { command, args } = squadProgram();
  const env = { ...movedHome(process.env), ...movedDatabase(process.env) };
  const entry = {
    command,
    args: [...args, 'mcp', 'serve', '--config', file],
    ...(Object.keys(env).length > 0 && { env }),
  };
  return printResult(context, { root, written, kept, entry }, () => [
    ...written.map(each => `wrote ${each}`),
    ...kept.map(each => `kept  ${each}`),
    '',
    `Describe the tool in ${name}.subagent.yaml and its instructions in ${name}.prompt.md.`,
    'Next:',
    withOwnCommand(`  squad config lint ${shellWord(`${name}.subagent.yaml`)}`),
    "Then add this to your MCP client's configuration:",
    `  "${name}": ${JSON.stringify(entry)}`,
  ]);
}
