/**
 * Generates docs/reference from the help of the command line, the tool list and what engines declare, the JSON Schemas that editors use for MCP
 * configurations and subagent files, the files of scripts/manifests.ts, and the tests of each row in docs/coverage.md and docs/security-tests.md.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { optionsOf } from '../src/core/runs/run-request.ts';
import { cliProfiles } from '../src/engines/cli-profiles.ts';
import { nativePolicy } from '../src/engines/native/native-engine.ts';
import { templatePolicy } from '../src/engines/template/template-engine.ts';
import { toolDefinition } from '../src/mcp/tools.ts';
import type { Operation } from '../src/operations/operation.ts';
import { OPERATIONS } from '../src/operations/operations.ts';
import { McpConfig } from '../src/schema/mcp-config.ts';
import { HOLDER_TEXT, PERMISSION_TEXT } from '../src/schema/permission-text.ts';
import { Permission, type PolicyRule, type RunOptions } from '../src/schema/run.ts';
import { SubagentFile } from '../src/schema/subagent.ts';
import { TOOLSETS, type Toolset } from '../src/schema/toolset.ts';
import { manifests } from './manifests.ts';
import { readDocument, TAGGED_DOCUMENTS, withTests } from './test-tags.ts';

const root = join(import.meta.dirname, '..');
const NOTE = '<!-- Written by `npm run docs`; change the source instead. -->';

/**
 * Maps paths below the project to contents. The help comes from the built programs, so `npm run build` has to come
 * first.
 */
export function referenceDocuments(): Record<string, string> {
  return {
    ...Object.fromEntries(TAGGED_DOCUMENTS.map(path => [path, withTests(readDocument(path))])),
    ...manifests(),
    'docs/reference/cli.md': cliReference(),
    'docs/reference/permissions.md': permissionsReference(),
    'docs/reference/tools.md': toolsReference(),
    'schemas/mcp-config.schema.json': editorSchema(
      McpConfig,
      'Squad: other MCP servers for agents (.squad/mcp-config.json)',
    ),
    'schemas/subagent.schema.json': editorSchema(SubagentFile, 'Squad: a subagent (NAME.subagent.yaml)', {
      $id: 'urn:squad-mcp:subagent:1.0',
    }),
  };
}

/** JSON Schema for editors, in draft 7, which every editor supports. */
function editorSchema(form: z.ZodType, title: string, more: { $id?: string } = {}): string {
  const { $schema, ...rest } = z.toJSONSchema(form, { io: 'input', target: 'draft-7' });
  return `${JSON.stringify({ $schema, ...more, title, ...rest }, null, 2)}\n`;
}

function cliReference(): string {
  const sections = commandsFrom([]).map(words => section(`squad ${words.join(' ')}`.trim(), helpOf(words)));
  return `${NOTE}\n\n# Command line\n\nThis is the text of \`squad help COMMAND\`.\n\n${sections.join('\n')}`;
}

function section(title: string, help: string): string {
  return `## ${title}\n\n\`\`\`text\n${help}\n\`\`\`\n`;
}

/** The words of a command, followed by those of its subcommands, in the order of the help. */
function commandsFrom(words: string[]): string[][] {
  // `squad mcp` alone is the relay, which does not know the subcommands.
  const help = words.join(' ') === 'mcp' ? helpFrom(['help', 'mcp']) : helpOf(words);
  const lists = help.split('\n\n').filter(part => /^.*commands:\n/i.test(part));
  const below = lists
    .flatMap(list => [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name!))
    .filter(name => name !== 'help');
  return [words, ...below.flatMap(name => commandsFrom([...words, name]))];
}

const helpOf = (words: string[]): string => helpFrom([...words, '--help']);

/** Cached, because each help text is needed twice and takes a process. */
const helpTexts = new Map<string, string>();

function helpFrom(words: string[]): string {
  const key = words.join(' ');
  const help = helpTexts.get(key) ?? printed(words);
  helpTexts.set(key, help);
  return help;
}

function printed(words: string[]): string {
  const program = [join(root, 'bin', 'squad.cjs'), ...words];
  // The relay prints its help to standard error, because standard output belongs to the protocol.
  const run = execFileSync('/bin/sh', ['-c', 'exec "$0" "$@" 2>&1', process.execPath, ...program], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, NO_COLOR: '1', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  });
  return run.trim();
}

/**
 * The reference of permissions: the rules that each engine declares. Results, `squad show` and the web UI name the same
 * rules.
 */
function permissionsReference(): string {
  const engines: { name: string; policy(options: RunOptions): PolicyRule[] }[] = [
    ...cliProfiles().map(({ id, name, policy }) => ({ name: `${name} (\`${id}\`)`, policy })),
    { name: "Squad's own (`native`)", policy: nativePolicy },
    { name: 'a template of yours', policy: templatePolicy },
  ];
  const levels = Permission.options.map(
    level => `| \`${level}\`${level === 'edit' ? ' (default)' : ''} | ${PERMISSION_TEXT[level]} |`,
  );
  const cell = (rule: PolicyRule | undefined) =>
    rule ? `${HOLDER_TEXT[rule.heldBy]}${rule.note === null ? '' : `: ${rule.note}`}` : 'no limit';
  const limits = engines.map(({ name, policy }) => {
    const [read, edit] = (['read', 'edit'] as const).map(permission => {
      const rules = policy(optionsOf({ task: '', permission }, {}));
      return rules.find(({ rule }) => rule.startsWith('permission:'));
    });
    const tools = policy(optionsOf({ task: '', tools: ['Read', 'Bash'] }, {})).find(({ rule }) =>
      rule.startsWith('tools:'),
    );
    return `| ${[name, cell(read), cell(edit), cell(tools)].join(' | ')} |`;
  });
  return `${NOTE}

# Permissions

The permission of a run comes from the call (\`permission\`, \`squad run --permission\`), else from its role, else it is \`edit\`.

| Permission | Allows |
| --- | --- |
${levels.join('\n')}

Squad gives the permission to the agent CLI as flags and settings; in a [sandbox](../guides/sandbox.md) the system holds \`read\` and \`edit\` for every engine. Without one, who holds the limit differs:

- *${HOLDER_TEXT.engine}*: the CLI refuses what is not allowed. Squad tests this with the real CLIs (Cursor Agent excepted).
- *${HOLDER_TEXT.system}*: Squad or the operating system stops the run. So are the time limit, the output limit and the stall limit of every engine.
- *${HOLDER_TEXT.advisory}*: nothing stops the agent; at most its instructions say so. Results list such limits as \`advisory\`, and \`squad show\` and the web UI name them for each run.

With \`full\` only \`tools\` and the limits of Squad are left.

| Engine | \`read\` | \`edit\`: only in its folder | \`tools\` |
| --- | --- | --- | --- |
${limits.join('\n')}

The scripted engine follows its script, whatever the permission. Flags of each CLI: [engines](../guides/engines/index.md). Tools of other MCP servers are held by Squad's gateway for every engine: [mcp-servers.md](../guides/gateway/mcp-servers.md).
`;
}

interface Schema {
  type?: string | string[];
  description?: string;
  enum?: string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

function toolsReference(): string {
  const sections = TOOLSETS.flatMap(toolset => {
    const inSet = OPERATIONS.filter(
      ({ tool }) => tool && !tool.forAgents && (tool.toolset ?? 'core') === toolset,
    );
    return [`## Toolset ${toolset}`, ABOUT[toolset], ...inSet.map(toolSection)];
  });
  const forAgents = OPERATIONS.filter(({ tool }) => tool?.forAgents);
  sections.push('## For agents alone', FOR_AGENTS, ...forAgents.map(toolSection));
  return `${NOTE}\n\n# MCP tools\n\n${INTRODUCTION}\n\n${sections.join('\n\n')}\n`;
}

function toolSection(operation: Operation): string {
  const tool = toolDefinition(operation, 'stateless', true);
  const both = toolDefinition(operation, 'stateful', true);
  const needs = operation.tool?.needs;
  return [
    `### ${tool.name}`,
    tool.description,
    ...(needs ? [`Listed where the program of \`${needs}\` is found.`] : []),
    `Input\n\n${table(tool.inputSchema as Schema, both.inputSchema as Schema)}`,
    `Output\n\n${table(tool.outputSchema as Schema, both.outputSchema as Schema)}`,
  ].join('\n\n');
}

const ABOUT: Record<Toolset, string> = {
  core: 'Clients get these by default.',
  team: 'The state of the team.',
  templates:
    'Agent templates as tools: `run_tests`, `review_code` and `analyze_deps`, trusted templates in `.squad/templates/` of the workspace, and your own. ' +
    'Each takes the arguments of its file, and `async`; the result is that of `spawn_agent`.',
};

const FOR_AGENTS =
  'Agents get these by the `type` of their role, for their own run or the one they review: see the guides to review loops and pull requests. ' +
  'An error is a flat object: `{ error, code, message, instance_id, tool_name, suggestions? }`, with further fields for some errors.';

const INTRODUCTION =
  'Inputs and results of all tools. `tools/list` describes some results in less detail, because it costs every client context. ' +
  'Choose toolsets with `squad mcp --toolsets core,templates`, `SQUAD_TOOLSETS` or the HTTP header `Squad-Toolsets`. Each result comes as structured content and as one text block with the same JSON. Gemini CLI and Qwen Code get errors only as structured content, because they would show them twice. ' +
  'An error is a result with `isError: true` and `{ error: { code, kind, message, tool_name, instance_id?, suggestions? } }`. ' +
  'A result also has `isError: true` if all its runs have ended, none succeeded, and at least one failed, timed out or was lost. ' +
  'Fields marked *stateful* exist only where `STATE_MODE` is `stateful`.';

function table(schema: Schema, stateful: Schema): string {
  const always = new Set(fields(schema).map(({ path }) => path));
  const rows = fields(stateful).map(({ path, type, required, description }) => {
    const notes = [always.has(path) ? '' : '*stateful*', description].filter(Boolean).join('; ');
    return `| \`${path}\` | ${type} | ${required ? 'yes' : ''} | ${notes} |`;
  });
  if (rows.length === 0) return 'Nothing.';
  return ['| Field | Type | Always | Notes |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

interface Field {
  path: string;
  type: string;
  required: boolean;
  description: string;
}

/** Fields of a schema. A nested field has its path as its name, such as `members[].roleId`. */
function fields({ properties = {}, required = [] }: Schema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const field = { path, type: typeOf(schema), required: required.includes(name) };
    const inner = schema.items ?? schema.anyOf?.find(({ properties: has }) => has) ?? schema;
    const below = fields(inner, `${path}${schema.items ? '[]' : ''}.`);
    return [{ ...field, description: describe(schema) }, ...below];
  });
}

function describe({ description, default: value, minimum, maximum }: Schema): string {
  const range = minimum === undefined || maximum === undefined ? null : `${minimum} to ${maximum}`;
  const preset = value === undefined ? null : `default \`${[value].flat().join(', ')}\``;
  return [description, range, preset].filter(Boolean).join('; ');
}

function typeOf({ type, enum: values, anyOf, items }: Schema): string {
  if (values) return values.map(value => `\`${value}\``).join(', ');
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  return items ? `array of ${typeOf(items)}` : [type ?? 'any'].flat().join(' or ');
}

if (import.meta.main)
  for (const [path, content] of Object.entries(referenceDocuments())) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    console.log(`wrote ${path}`);
  }
