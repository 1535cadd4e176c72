import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { refuseProjectCommands } from '../engines/project-commands.ts';
import { readAgentTemplates } from './agent-templates.ts';
import { changeBacklog } from './change-backlog.ts';
import { readConfigFiles } from './config-files.ts';
import { contextOf } from './context-of.ts';
import { importServers } from './import-servers.ts';
import { judgeConfig } from './judge-config.ts';
import { readMcpConfig } from './mcp-config-file.ts';
import { newFileDiff } from './new-file-diff.ts';
import { readOutputSchema } from './output-schema.ts';
import { readRole, readRoles } from './roles.ts';
import { lintSubagent, readSubagent } from './subagent-file.ts';
import { readTeamFile } from './team-file.ts';
import { createTeamMemories } from './team-memory.ts';

const KIB = 1024;
const root = mkdtempSync(join(tmpdir(), 'squad-hostile-'));
const home = mkdtempSync(join(tmpdir(), 'squad-hostile-home-'));
afterAll(() => {
  for (const folder of [root, home]) rmSync(folder, { recursive: true });
});

const trusted = async () => true;
const roles = { directory: join(root, 'agents'), from: 'workspace', why: '', charters: false } as const;
const team = () => createTeamMemories()(root);
const templates = (kind: 'tool' | 'prompt') =>
  readAgentTemplates({
    ...{ kind, reserved: new Set<string>(), isTrusted: trusted },
    folders: [{ directory: join(root, 'templates'), from: 'workspace' }],
  });

interface Reader {
  /** The modules that read the file. */
  in: string[];
  file: string;
  kind: keyof typeof SHAPES;
  /** As large as it is read. */
  most: number;
  read(): unknown;
}

/** Every file of a workspace that is parsed. */
const READERS: Record<string, Reader> = {
  'a role': {
    ...{ in: ['roles', 'text-file'], file: 'agents/hostile.md', kind: 'headed', most: 1024 * KIB },
    read: () => readRoles(roles, trusted),
  },
  'a template of a tool': {
    ...{ in: ['agent-templates'], file: 'templates/hostile.md', kind: 'headed', most: 1024 * KIB },
    read: () => templates('tool'),
  },
  'a template of a prompt': {
    ...{ in: ['agent-templates'], file: 'templates/hostile.md', kind: 'headed', most: 1024 * KIB },
    read: () => templates('prompt'),
  },
  settings: {
    ...{ in: ['config-files'], file: '.squad/squad.json', kind: 'json', most: 64 * KIB },
    read: () => readConfigFiles({ workspace: root, home, env: {} }),
  },
  'the servers of the gateway': {
    ...{ in: ['mcp-config-file'], file: '.squad/mcp-config.json', kind: 'json', most: 256 * KIB },
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
    ...{ in: ['output-schema', 'read-inside'], file: 'schema.json', kind: 'schema', most: 64 * KIB },
    read: () => readOutputSchema(root, 'schema.json'),
  },
  'a subagent': {
    ...{ in: ['subagent/file-values'], file: 'x.cpe.yaml', kind: 'yaml', most: 256 * KIB },
    read: () => lintSubagent(join(root, 'x.cpe.yaml'), {}),
  },
  'a prompt of a subagent': {
    ...{ in: ['subagent/attached-files'], file: 'prompt.md', kind: 'markdown', most: 1024 * KIB },
    read: () => lintSubagent(subagentWith('defaults', 'systemPromptPath: prompt.md'), {}),
  },
  'a schema of a subagent': {
    ...{ in: ['subagent/attached-files'], file: 'answer.json', kind: 'schema', most: 64 * KIB },
    read: () => lintSubagent(subagentWith('subagent', 'outputSchemaPath: answer.json'), {}),
  },
  'files of the context': {
    ...{ in: ['context-files'], file: 'PLAN.md', kind: 'markdown', most: 1024 * KIB },
    read: () => contextOf(root, { context: { value: {} } } as never, ['PLAN.md'], []),
  },
  'the roster': {
    ...{ in: ['team-memory', 'team-text'], file: '.squad/team.md', kind: 'markdown', most: 1024 * KIB },
    read: () => team().roster(),
  },
  'the backlog': {
    ...{ in: ['team-memory'], file: '.squad/backlog.md', kind: 'markdown', most: 1024 * KIB },
    read: () => team().backlog(),
  },
  'the backlog that is changed': {
    ...{ in: ['change-backlog', 'team-file'], file: '.squad/backlog.md', kind: 'markdown', most: 512 * KIB },
    read: () => changeBacklog(join(root, '.squad'), { action: 'done', number: 1 } as never, 'other'),
  },
  decisions: {
    ...{ in: ['team-decisions'], file: '.squad/decisions.md', kind: 'markdown', most: 1024 * KIB },
    read: () => team().decisions(),
  },
  'a decision in the inbox': {
    ...{ in: ['team-decisions'], file: '.squad/decisions/inbox/d.md', kind: 'markdown', most: 256 * KIB },
    read: () => team().decisions(),
  },
  'the history of an agent': {
    ...{ in: ['team-memory'], file: '.squad/agents/bob/history.md', kind: 'markdown', most: 1024 * KIB },
    read: () => team().history('bob'),
  },
  'the charter of an agent': {
    ...{ in: ['team-memory'], file: '.squad/agents/bob/charter.md', kind: 'markdown', most: 1024 * KIB },
    read: () => team().charter('bob'),
  },
  'the log of the team': {
    ...{ in: ['team-log', 'open-workspace'], file: '.squad/IAC.md', kind: 'markdown', most: 1024 * KIB },
    read: () => readTeamFile(join(root, '.squad/IAC.md')),
  },
  'a new file in a diff': {
    ...{ in: ['new-file-diff', 'work-file'], file: 'new.txt', kind: 'markdown', most: 4096 * KIB },
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

/** Modules that read files and parse nothing that came with a repository, each with the reason. */
const OTHERS: Record<string, string> = {
  'bounded-file': 'reads for others, at most 1 MiB',
  'plain-file': 'reads for others',
  'folder-file': 'bytes that are compared and copied',
  'branch-file': 'bytes that git stores',
  'branch-move-file': 'bytes that git stores',
  'work-snapshot': 'hashes at most 1 MiB before a run',
  'work-difference': 'hashes what the snapshot hashed',
  'work-changes': 'hashes what the snapshot hashed',
  'ignore-rules': 'two files of at most 1 MiB, split into lines',
  'git-folder': 'one line of a `.git` file',
  'private-git': 'one search in a file of at most 1 MiB',
  'settle-worktree': 'one search in a file of at most 1 MiB',
  'user-excludes': "the user's own file",
  'index-copy': 'the index of git, copied',
  'worktree-index': 'the index of git, copied',
  'index-lock': 'a file of git, of our own making',
  'file-lock': 'a file of our own',
  'worktree-loose': 'a list of our own in the folder of git',
  'worktree-place': 'lists of our own in the folder of git',
  'worktree-notes': 'notes of our own in the folder of git',
  'worktree-nested': 'one line of a `.git` file',
  trust: 'a file in the home',
  'price-file': 'a file in the home',
  '../engines/gemini/project-commands': 'by `readProjectText`, one search',
  '../engines/codex/configured-model': 'by `readProjectText`, one search',
  '../engines/qwen/project-settings': "the user's own file",
  '../engines/claude/project-settings': "the user's own file",
  '../engines/codex/user-config': "the user's own file",
  '../engines/gemini/gemini-settings': "the user's own file",
  '../engines/copilot/copilot-command': "the user's own file",
  '../engines/opencode/user-config': "the user's own file",
  '../engines/program-versions': 'a file in the home',
};

function subagentWith(part: 'subagent' | 'defaults', line: string): string {
  const file = join(root, 'attached.cpe.yaml');
  const lines = { subagent: ['name: x', 'description: x'], defaults: ['model: m'] };
  lines[part].push(line);
  const of = (name: 'subagent' | 'defaults') => [`${name}:`, ...lines[name].map(each => `  ${each}`)];
  const model = ['models:', '  - ref: m', '    display_name: M', '    id: m', '    type: anthropic'];
  writeFileSync(file, ['version: "1.0"', ...of('subagent'), ...of('defaults'), ...model, ''].join('\n'));
  return file;
}

const times = (unit: (index: number) => string, size: number): string => {
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
const SHAPES = {
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

/** All threads of this process, in milliseconds: the least of two, so that neither a collection nor a first call counts. */
async function cpuOf(read: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 2; round++) {
    const before = process.cpuUsage();
    // A refusal is an answer too.
    await Promise.resolve()
      .then(read)
      .catch(thrown => expect(thrown).toHaveProperty('code'));
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
    if (least < NOISE_MS) break;
  }
  return least;
}

/** Below it, other work of the process decides. */
const NOISE_MS = 10;
/** Four times the size is four times the work where it grows in proportion, sixteen times where each part is compared with each other. */
const MAX_GROWTH = 9;

describe.each(Object.entries(READERS))('%s', (_what, { file, kind, most, read }) => {
  test.each(Object.entries(SHAPES[kind]))(
    'of any size takes time in proportion to it: %s',
    async (_shape, of) => {
      const path = join(root, file);
      mkdirSync(dirname(path), { recursive: true });
      const cpu: number[] = [];
      for (const size of [most / 4, most / 2, most]) {
        writeFileSync(path, of(size).slice(0, size));
        cpu.push(await cpuOf(read));
      }
      rmSync(path);
      expect(cpu[2], `CPU for ${most / 4}, ${most / 2}, ${most} bytes: ${cpu.join(', ')} ms`).toBeLessThan(
        MAX_GROWTH * Math.max(cpu[0]!, NOISE_MS),
      );
    },
  );
});

describe('a file beyond its bound is refused with its name, the bound and what to do', () => {
  const put = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };

  test.each([
    ['20,000 keys', times(index => `k${index}: 1\n`, 200 * KIB), 'characters; at most 16384 are read'],
    ['many lines', 'a: 1\n'.repeat(501), 'more than 500 lines'],
    ['many brackets', `a: ${'['.repeat(51)}`, 'more than 50 open brackets'],
    [
      'many aliases',
      `a: &a 1\n${times(index => `b${index}: *a\n`, 600)}`,
      'more than 50 anchors and aliases',
    ],
    ['deep indentation', `a:\n${' '.repeat(201)}b: 1`, 'more than 200 columns'],
  ])('a head with %s', async (_what, head, bound) => {
    put('agents/hostile.md', `---\n${head}\n---\nbody`);
    await expect(readRole(roles, 'hostile', trusted)).rejects.toMatchObject({
      code: 'ROLE_INVALID',
      message: expect.stringMatching(new RegExp(`${join(root, 'agents/hostile.md')}.*${bound}.*shorter`)),
    });
  });

  test('settings', async () => {
    put('.squad/squad.json', `{${' '.repeat(64 * KIB)}}`);
    await expect(readConfigFiles({ workspace: root, home, env: {} })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${join(root, '.squad/squad.json')} is 65538 bytes; at most 65536 are read.`,
      suggestions: [expect.any(String)],
    });
    rmSync(join(root, '.squad/squad.json'));
  });

  test('a subagent, at the line where it is too much', async () => {
    put('x.cpe.yaml', `a: 1\n${'['.repeat(201)}`);
    await expect(readSubagent(join(root, 'x.cpe.yaml'), {})).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('x.cpe.yaml:2:201: the file has more than 200 open brackets'),
    });
  });

  test('a schema', async () => {
    put('schema.json', `{${' '.repeat(256 * KIB)}}`);
    await expect(readOutputSchema(root, 'schema.json')).rejects.toMatchObject({
      code: 'SCHEMA_INVALID',
      message: expect.stringMatching(/schema\.json is larger than 262144 bytes/),
    });
    const patterns = Array.from({ length: 501 }, (_, index) => [`^k${index}$`, {}]);
    put('schema.json', JSON.stringify({ type: 'object', patternProperties: Object.fromEntries(patterns) }));
    await expect(readOutputSchema(root, 'schema.json')).rejects.toMatchObject({
      code: 'SCHEMA_INVALID',
      message: expect.stringContaining('more than 500 patterns'),
    });
  });

  test('settings of an agent CLI, which the CLI would read', () => {
    put('.claude/settings.json', `{${' '.repeat(256 * KIB)}"hooks": {}}`);
    const settings = {
      cli: 'A CLI',
      program: 'cli',
      files: ['.claude/settings.json'],
      isTrusted: () => false,
    };
    expect(() => refuseProjectCommands(root, { ...settings, runsCommands: /"(hooks)"/ })).toThrow(
      /\.claude\/settings\.json .*at most 262144 are read/,
    );
  });
});

/** Whoever adds a reader finds out here that it must keep to the bounds. */
test('every module that reads files is in one of the two tables', () => {
  const READS =
    /\b(readTextFile|readSmallFile|readTeamText|readTeamBytes|readTeamFile|readBounded|readFrom|readPlainFile|readFolderFile|readInside|readProjectText|readText|readWorkFile|hashWorkFile|readFileSync|readFile|createReadStream)\(/;
  const folders = { '': import.meta.dirname, '../engines/': resolve(import.meta.dirname, '../engines') };
  const found = Object.entries(folders).flatMap(([prefix, folder]) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => /^(?!.*(\.test\.ts$|testing\/|fixtures\/|^scripted\/)).*\.ts$/.test(name))
      .filter(name => READS.test(readFileSync(join(folder, name), 'utf8')))
      .map(name => `${prefix}${name.slice(0, -'.ts'.length)}`),
  );
  const known = [...Object.values(READERS).flatMap(reader => reader.in), ...Object.keys(OTHERS)];
  expect(found.filter(name => !known.includes(name))).toEqual([]);
  expect(known.filter(name => !found.includes(name))).toEqual([]);
});
