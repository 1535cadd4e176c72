import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { refuseProjectCommands } from '../../engines/project-commands.ts';
import { newFileDiff } from '../evidence/diff.ts';
import { importServers } from '../gateway/import-servers.ts';
import { readMcpConfig } from '../gateway/mcp-config-file.ts';
import { judgeConfig } from '../gateway/mcp-configs.ts';
import { readAgentTemplates } from '../roles/agent-templates.ts';
import { contextOf } from '../roles/context-files.ts';
import { readRoles } from '../roles/roles.ts';
import { readConfigFiles } from '../settings/config-files.ts';
import { readOutputSchema } from '../settings/open-workspace.ts';
import { lintSubagent } from '../subagents/subagent-file.ts';
import { readTeamFile } from '../team/team-file.ts';
import { changeBacklog, createTeamMemories } from '../team/team-memory.ts';

export const KIB = 1024;

export interface Reader {
  /** Modules that read the file. */
  in: string[];
  file: string;
  kind: keyof typeof SHAPES;
  /** Maximum size in bytes that the reader accepts. */
  most: number;
  read(): unknown;
}

/** Readers of all files of a workspace that Squad parses. */
export function hostileReaders(root: string, home: string): Record<string, Reader> {
  const roles = { directory: join(root, 'agents'), from: 'workspace', why: '', charters: false } as const;
  const team = () => createTeamMemories()(root);
  const templates = (kind: 'tool' | 'prompt') =>
    readAgentTemplates({
      ...{ kind, reserved: new Set<string>(), isTrusted: trusted },
      folders: [{ directory: join(root, 'templates'), from: 'workspace' }],
    });
  function subagentWith(part: 'subagent' | 'defaults', line: string): string {
    const file = join(root, 'attached.cpe.yaml');
    const lines = { subagent: ['name: x', 'description: x'], defaults: ['model: m'] };
    lines[part].push(line);
    const of = (name: 'subagent' | 'defaults') => [`${name}:`, ...lines[name].map(each => `  ${each}`)];
    const model = ['models:', '  - ref: m', '    display_name: M', '    id: m', '    type: anthropic'];
    writeFileSync(file, ['version: "1.0"', ...of('subagent'), ...of('defaults'), ...model, ''].join('\n'));
    return file;
  }
  return {
    'a role': {
      ...{
        in: ['roles/roles', 'files/text-file'],
        file: 'agents/hostile.md',
        kind: 'headed',
        most: 1024 * KIB,
      },
      read: () => readRoles(roles, trusted),
    },
    'a template of a tool': {
      ...{ in: ['roles/agent-templates'], file: 'templates/hostile.md', kind: 'headed', most: 1024 * KIB },
      read: () => templates('tool'),
    },
    'a template of a prompt': {
      ...{ in: ['roles/agent-templates'], file: 'templates/hostile.md', kind: 'headed', most: 1024 * KIB },
      read: () => templates('prompt'),
    },
    settings: {
      ...{ in: ['settings/config-files'], file: '.squad/squad.json', kind: 'json', most: 64 * KIB },
      read: () => readConfigFiles({ workspace: root, home, env: {} }),
    },
    'the servers of the gateway': {
      ...{ in: ['gateway/mcp-config-file'], file: '.squad/mcp-config.json', kind: 'json', most: 256 * KIB },
      read: async () =>
        judgeConfig(home, join(root, '.squad/mcp-config.json'), await readMcpConfig(root), {
          config: null,
          text: null,
        }),
    },
    'servers of another client': {
      ...{ in: [], file: '.mcp.json', kind: 'json', most: 256 * KIB },
      read: () =>
        importServers([{ file: '.mcp.json', text: readFileSync(join(root, '.mcp.json'), 'utf8') }], {
          servers: {},
        }),
    },
    'a schema of answers': {
      ...{
        in: ['settings/open-workspace', 'files/text-file'],
        file: 'schema.json',
        kind: 'schema',
        most: 64 * KIB,
      },
      read: () => readOutputSchema(root, 'schema.json'),
    },
    'a subagent': {
      ...{ in: ['subagents/subagent-file'], file: 'x.cpe.yaml', kind: 'yaml', most: 256 * KIB },
      read: () => lintSubagent(join(root, 'x.cpe.yaml'), {}),
    },
    'a prompt of a subagent': {
      ...{ in: ['subagents/subagent-file'], file: 'prompt.md', kind: 'markdown', most: 1024 * KIB },
      read: () => lintSubagent(subagentWith('defaults', 'systemPromptPath: prompt.md'), {}),
    },
    'a schema of a subagent': {
      ...{ in: ['subagents/subagent-file'], file: 'answer.json', kind: 'schema', most: 64 * KIB },
      read: () => lintSubagent(subagentWith('subagent', 'outputSchemaPath: answer.json'), {}),
    },
    'files of the context': {
      ...{ in: ['roles/context-files'], file: 'PLAN.md', kind: 'markdown', most: 1024 * KIB },
      read: () => contextOf(root, { context: { value: {} } } as never, ['PLAN.md'], []),
    },
    'the roster': {
      ...{
        in: ['team/team-memory', 'team/team-file'],
        file: '.squad/team.md',
        kind: 'markdown',
        most: 1024 * KIB,
      },
      read: () => team().roster(),
    },
    'the backlog': {
      ...{ in: ['team/team-memory'], file: '.squad/backlog.md', kind: 'markdown', most: 1024 * KIB },
      read: () => team().backlog(),
    },
    'the backlog that is changed': {
      ...{
        in: ['team/team-memory', 'team/team-file'],
        file: '.squad/backlog.md',
        kind: 'markdown',
        most: 512 * KIB,
      },
      read: () => changeBacklog(join(root, '.squad'), { action: 'done', number: 1 } as never, 'other'),
    },
    decisions: {
      ...{ in: ['team/decisions'], file: '.squad/decisions.md', kind: 'markdown', most: 1024 * KIB },
      read: () => team().decisions(),
    },
    'a decision in the inbox': {
      ...{ in: ['team/decisions'], file: '.squad/decisions/inbox/d.md', kind: 'markdown', most: 256 * KIB },
      read: () => team().decisions(),
    },
    'the history of an agent': {
      ...{
        in: ['team/team-memory'],
        file: '.squad/agents/bob/history.md',
        kind: 'markdown',
        most: 1024 * KIB,
      },
      read: () => team().history('bob'),
    },
    'the charter of an agent': {
      ...{
        in: ['team/team-memory'],
        file: '.squad/agents/bob/charter.md',
        kind: 'markdown',
        most: 1024 * KIB,
      },
      read: () => team().charter('bob'),
    },
    'the log of the team': {
      ...{
        in: ['team/team-log', 'settings/open-workspace'],
        file: '.squad/IAC.md',
        kind: 'markdown',
        most: 1024 * KIB,
      },
      read: () => readTeamFile(join(root, '.squad/IAC.md')),
    },
    'a new file in a diff': {
      ...{ in: ['evidence/diff', 'files/file-stamp'], file: 'new.txt', kind: 'markdown', most: 4096 * KIB },
      read: () => newFileDiff(root, 'new.txt'),
    },
    'settings of an agent CLI': {
      ...{ in: ['../engines/project-commands', '../engines/read-text', '../engines/worktree-twin'] },
      ...{ file: '.claude/settings.json', kind: 'json', most: 256 * KIB },
      read: () =>
        refuseProjectCommands(root, {
          ...{ cli: 'A CLI', program: 'cli', files: ['.claude/settings.json'], isTrusted: () => false },
          runsCommands: /"(hooks|env|apiKeyHelper)"\s*:|^[ \t{[]*"?(mcp_servers|notify)/m,
        }),
    },
  };
}

export const trusted = async () => true;

export const times = (unit: (index: number) => string, size: number): string => {
  const parts: string[] = [];
  for (let index = 0, length = 0; length < size; index++)
    length += parts[parts.push(unit(index)) - 1]!.length;
  return parts.join('').slice(0, size);
};
type Shape = (size: number) => string;
const within = (open: string, unit: (index: number) => string, close: string): Shape => {
  return size => `${open}${times(unit, Math.max(0, size - open.length - close.length - 40))}${close}`;
};

const YAML: Record<string, Shape> = {
  keys: size => times(index => `k${index}: 1\n`, size),
  'keys in braces': within('a: {', index => `k${index}: 1, `, 'z: 1}\n'),
  brackets: size => `a: ${'['.repeat(size - 3)}`,
  'nested blocks': size => times(index => `${' '.repeat(index % 190)}a:\n`, size),
  aliases: within('a: &a [1, 2]\n', index => `b${index}: *a\n`, ''),
  anchors: size => times(index => `b${index}: &a${index} x\n`, size),
  comments: size => times(() => '# x\n', size),
  lists: within('a:\n', () => '- x\n', ''),
  dashes: size => times(() => '- ', size),
  'empty lines': size => '\n'.repeat(size),
  commas: within('a: [', () => ',', ']\n'),
  'closing brackets': size => `a: ${']'.repeat(size - 3)}`,
  texts: size => `a: ${'"" '.repeat(size / 3)}`,
  tags: size => `a: ${'!a '.repeat(size / 3)}`,
  escapes: within('a: "', () => '\\q', '"\n'),
  'pairs in pairs': within('a: [', () => 'a: b: ', ']\n'),
};
const JSONS: Record<string, Shape> = {
  keys: within('{', index => `"k${index}":1,`, '"z":1}'),
  servers: within('{"servers":{', index => `"k${index}":{"command":"x"},`, '"z":{"command":"x"}}}'),
  'wrong servers': within('{"servers":{', index => `"K ${index}":{"comand":1},`, '"z":{"command":"x"}}}'),
  'foreign servers': within('{"mcpServers":{', index => `"A ${index}":{"command":"y${index}"},`, '"z":{}}}'),
  engines: within('{"engines":{', index => `"e${index}":{"comand":"x"},`, '"z":{}}}'),
  'equal keys': within('{', () => '"k":1,', '"z":1}'),
  numbers: within('[', () => '1,', '1]'),
  brackets: size => '['.repeat(size),
  spaces: size => ' '.repeat(size),
  'half a key': size => `{"hooks"${' '.repeat(size - 9)}x`,
};
export const SHAPES = {
  yaml: YAML,
  headed: {
    ...Object.fromEntries(
      Object.entries(YAML).map(([name, of]) => [name, (size: number) => `---\n${of(size - 20)}\n---\nbody`]),
    ),
    'no end of the head': size => `---\n${'a'.repeat(size - 4)}`,
    'ends that are none': size => `---\n${times(() => '--- x\n', size - 4)}`,
    'a body of lines': size => `---\ndescription: x\n---\n${'\r\n'.repeat((size - 30) / 2)}x`,
    braces: size => `---\ndescription: x\n---\n${'{{'.repeat((size - 30) / 2)}`,
  } as Record<string, Shape>,
  json: JSONS,
  schema: {
    keys: JSONS.keys!,
    properties: within(
      '{"type":"object","properties":{',
      index => `"k${index}":{"type":"string"},`,
      '"z":{}}}',
    ),
    choices: within('{"type":"object","anyOf":[', index => `{"const":${index}},`, '{}]}'),
    patterns: within('{"type":"object","patternProperties":{', index => `"(a+)+${index}$":{},`, '"z":{}}}'),
    brackets: JSONS.brackets!,
  },
  markdown: {
    headings: size => times(index => `### h${index}\nBy: x\n`, size),
    'small headings': size => times(() => '###### h\n', size),
    items: size => times(index => `- [ ] item ${index} @bob [P1] (#${index})\n`, size),
    rows: within('| Name | Role |\n|---|---|\n', index => `| n${index} | r |\n`, ''),
    columns: size =>
      `|Name|Role|${'c|'.repeat(size / 6)}\n|${'-|'.repeat(size / 6)}\n|${'x|'.repeat(size / 6)}\n`,
    fences: size => times(() => '~~~\n```\n', size),
    'one line': size => 'x'.repeat(size),
    stars: size => '*'.repeat(size),
    ticks: size => '`a'.repeat(size / 2),
    links: size => '[a]('.repeat(size / 4),
    comments: size => '<!--'.repeat(size / 4),
    'empty lines': size => '\n'.repeat(size),
    'carriage returns': size => '\r'.repeat(size),
    iterations: size => times(index => `## Iteration ${index}\n- [ ] x\n`, size),
    names: size => `- [ ] ${'@a.'.repeat(size / 3)}`,
  },
} satisfies Record<string, Record<string, Shape>>;

/** Reads the file. An error with a code counts as a valid refusal; any other error is thrown. */
export async function readHostile({ read }: Reader): Promise<void> {
  await Promise.resolve()
    .then(read)
    .catch(thrown => {
      if (!thrown || typeof thrown !== 'object' || !('code' in thrown)) throw thrown;
    });
}

export function putFile(root: string, file: string, text: string): string {
  const path = join(root, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
