import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { inspectSubagent, readSubagent } from './subagent-file.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-subagent-'));
const fixtures = join(import.meta.dirname, 'fixtures', 'subagents');
const ENV = { ANTHROPIC_API_KEY: 'sk-test', OPENAI_API_KEY: 'sk-other' };
const file = join(root, 'a.subagent.yaml');
afterAll(() => rmSync(root, { recursive: true }));

const SOUND = {
  models: '\n  - { ref: opus, id: claude-opus-4, type: anthropic }',
  subagent: '\n  name: review_changes\n  description: Reviews a diff.',
  defaults: '\n  model: opus\n  systemPromptPath: ./p.md',
};

beforeEach(() => {
  writeFileSync(join(root, 'p.md'), 'You review.\n');
  writeFileSync(join(root, 's.json'), '{ "type": "object" }');
});

/** A sound file with these parts in place of its own; null takes one out. */
function write(parts: Record<string, string | null> = {}): string {
  const all = Object.entries({ ...SOUND, ...parts }).flatMap(([key, text]) =>
    text === null ? [] : `${key}: ${text}\n`,
  );
  writeFileSync(file, all.join(''));
  return file;
}

const refusal = (path = file, env: Record<string, string> = ENV) =>
  readSubagent(path, env).then(
    () => null,
    ({ code, message, suggestions }) => ({ code, message, suggestions: suggestions.join(' ') }),
  );
const findings = async (env: Record<string, string> = ENV) =>
  (await inspectSubagent(file, env)).findings.map(
    ({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`,
  );
const read = (env: Record<string, string> = ENV) => readSubagent(file, env);

describe('files of CPE work unchanged', () => {
  test('one that thinks, with a schema', async () => {
    const path = join(fixtures, 'review_agent.cpe.yaml');
    expect((await inspectSubagent(path, ENV)).findings).toEqual([]);
    expect(await readSubagent(path, ENV)).toEqual({
      file: path,
      name: 'review_changes',
      description: 'Review a diff and return prioritized feedback.',
      outputSchema: JSON.parse(readFileSync(join(fixtures, 'schemas', 'review.json'), 'utf8')),
      model: {
        ...{ type: 'anthropic', id: 'claude-opus-4-20250514', baseUrl: null, headers: {}, generation: {} },
        ...{ apiKeyEnv: 'ANTHROPIC_API_KEY', prices: null },
      },
      systemPrompt: 'You review one diff and return what has to change, most important first.\n',
      ...{ codeMode: null, servers: null, timeoutMs: null, maxTurns: 50 },
    });
  });

  test('one that works, with code mode and servers', async () => {
    const path = join(fixtures, 'coder_agent.cpe.yaml');
    expect((await inspectSubagent(path, ENV)).findings).toEqual([]);
    const { name, codeMode, servers, outputSchema } = await readSubagent(path, ENV);
    expect({ name, outputSchema }).toEqual({ name: 'implement_change', outputSchema: null });
    expect(codeMode).toMatchObject({ timeoutMs: 300_000, excludedTools: [] });
    expect(servers!.shared).toEqual(['filesystem', 'shell']);
    expect(servers!.servers.shell).toMatchObject({
      ...{ type: 'stdio', command: 'shell-mcp', args: [], env: {}, tools: ['*'], instance: 'per-agent' },
    });
  });
});

describe('a file that cannot be used says where and why', () => {
  const models = '\n  - { ref: opus, id: x, type: anthropic }\n  - { ref: sonnet, id: y, type: anthropic }';
  const table: [string, Record<string, string | null>, string, string, string][] = [
    ['no subagent', { subagent: null }, 'CONFIG_INVALID', '1:1: no subagent is defined', 'Add "subagent:"'],
    ['an empty subagent', { subagent: '' }, 'CONFIG_INVALID', '3:1: no subagent is defined', ''],
    ['text for it', { subagent: 'x' }, 'CONFIG_INVALID', '3:1: "subagent" is wrong', ''],
    ['no name', { subagent: '\n  description: x' }, 'CONFIG_INVALID', '3:1: "subagent.name" is missing', ''],
    [
      'a name no tool can have',
      { subagent: '\n  name: review changes\n  description: x' },
      ...([
        'CONFIG_INVALID',
        '4:3: "review changes" cannot be the name of a tool',
        '1 to 64 letters',
      ] as const),
    ],
    [
      'a name that is too long',
      { subagent: `\n  name: ${'a'.repeat(65)}\n  description: x` },
      ...(['CONFIG_INVALID', 'cannot be the name of a tool', ''] as const),
    ],
    [
      'a name that is a number',
      { subagent: '\n  name: 12\n  description: x' },
      ...(['CONFIG_INVALID', '4:3: "subagent.name" is wrong', ''] as const),
    ],
    [
      'no description',
      { subagent: '\n  name: x' },
      'CONFIG_INVALID',
      '"subagent.description" is missing',
      '',
    ],
    [
      'an empty description',
      { subagent: '\n  name: x\n  description: " "' },
      ...(['CONFIG_INVALID', '5:3: "subagent.description" is empty', 'what the tool is for'] as const),
    ],
    [
      'a prompt that is not there',
      { defaults: '\n  model: opus\n  systemPromptPath: ./nowhere.md' },
      ...(['CONFIG_INVALID', `8:3: ${join(root, 'nowhere.md')} does not exist`, 'relative to'] as const),
    ],
    [
      'a prompt that is a folder',
      { defaults: '\n  model: opus\n  systemPromptPath: .' },
      ...(['CONFIG_INVALID', 'is a folder', ''] as const),
    ],
    ['no models', { models: null }, 'MODEL_NOT_SET', 'there are no models', 'ref, id and type'],
    ['a list without models', { models: '[]' }, 'MODEL_NOT_SET', 'there are no models', ''],
    ['models by name', { models: '{ a: 1 }' }, 'CONFIG_INVALID', '1:1: "models" is wrong', ''],
    ['no default model', { defaults: '{}' }, 'MODEL_NOT_SET', '"defaults.model" is missing', 'model: opus'],
    ['no defaults at all', { defaults: null }, 'MODEL_NOT_SET', '"defaults.model" is missing', 'model: opus'],
    [
      'a model that is not in the list',
      { models, defaults: '\n  model: sonet' },
      ...(['MODEL_NOT_SET', '8:3: no model has the ref "sonet"', 'Did you mean sonnet?'] as const),
    ],
    [
      'a model nothing is like',
      { models, defaults: '\n  model: gpt' },
      ...(['MODEL_NOT_SET', 'no model has the ref "gpt"', 'The models are: opus, sonnet.'] as const),
    ],
    [
      'a model without an id',
      { models: '\n  - { ref: opus, type: anthropic }' },
      ...(['CONFIG_INVALID', '2:5: "models.0.id" is missing', ''] as const),
    ],
    [
      'a kind of model nobody knows',
      { models: '\n  - { ref: opus, id: x, type: antropic }' },
      ...(['CONFIG_INVALID', '"antropic" is not a type of model', 'Did you mean anthropic?'] as const),
    ],
    [
      'two models of one ref',
      { models: '\n  - { ref: opus, id: x, type: openai }\n  - { ref: opus, id: y, type: openai }' },
      ...(['CONFIG_INVALID', '3:7: another model has the ref "opus"', ''] as const),
    ],
    [
      'an address that is none',
      { models: '\n  - { ref: opus, id: x, type: openai, base_url: "ftp://x" }' },
      ...(['CONFIG_INVALID', 'is not an http or https URL', ''] as const),
    ],
    [
      'a key in the file itself',
      { models: '\n  - { ref: opus, id: x, type: openai, api_key_env: sk-very-secret }' },
      ...(['API_KEY_MISSING', '"api_key_env" is not the name of a variable', 'Put the key into'] as const),
    ],
    [
      'a key in the file that could be a name',
      { models: '\n  - { ref: opus, id: x, type: groq, api_key_env: gsk_0123456789abcdefghij }' },
      ...(['API_KEY_MISSING', '"api_key_env" is not the name of a variable', 'Put the key into'] as const),
    ],
    [
      'a time that is none',
      { defaults: '\n  model: opus\n  timeout: soon' },
      ...(['CONFIG_INVALID', '8:3: "soon" is not a time', '1h30m'] as const),
    ],
    [
      'a server with nothing to start',
      { mcpServers: '\n  files: { type: stdio }' },
      ...(['CONFIG_INVALID', '10:3: the server "files" has no "command"', 'Add "command"'] as const),
    ],
    [
      'a server with nothing at all',
      { mcpServers: '\n  files:' },
      ...(['CONFIG_INVALID', '10:3: the server "files" has no "command"', 'Add "command"'] as const),
    ],
    [
      'a remote server without an address',
      { mcpServers: '\n  files: { type: http }' },
      ...(['CONFIG_INVALID', 'the server "files" has no "url"', ''] as const),
    ],
    [
      'a server of no known type',
      { mcpServers: '\n  files: { type: pipe, command: x }' },
      ...(['CONFIG_INVALID', '"mcpServers.files.type" is wrong', ''] as const),
    ],
    [
      'a server with a variable that is not set',
      { mcpServers: '\n  exa: { command: exa-mcp, env: { EXA_API_KEY: $EXA_API_KEY } }' },
      ...(['CONFIG_INVALID', 'variable EXA_API_KEY is not set', 'Set EXA_API_KEY'] as const),
    ],
    [
      'no tools but those of another program',
      { mcpServers: '\n  editor: { type: builtin }' },
      ...(['CONFIG_INVALID', 'there would be no tools', ''] as const),
    ],
  ];

  test.each(table)('%s', async (_, parts, code, message, suggestion) => {
    write(parts);
    const refused = await refusal();
    expect(refused).toMatchObject({ code });
    expect(refused!.message).toContain(message);
    expect(refused!.message.startsWith(`${file}:`)).toBe(true);
    expect(refused!.suggestions).toContain(suggestion);
    expect(refused!.suggestions).toContain('squad config lint');
    expect(refused!.message + refused!.suggestions).not.toMatch(/sk-very-secret|gsk_0123/);
  });

  const schemas: [string, string, string][] = [
    ['is not JSON', '{\n  "type": }', 'is not JSON: line 2, column 11'],
    ['is empty', '', 'is not JSON'],
    ['is not an object', '[]', 'is not a JSON object'],
    ['is not a JSON Schema', '{ "type": "object", "properties": 3 }', 'is not a JSON Schema'],
    ['is of a list', '{ "type": "array" }', 'is not the schema of an object'],
    ['says nothing of what it is of', '{}', 'is not the schema of an object'],
  ];
  const withSchema = `${SOUND.subagent}\n  outputSchemaPath: s.json`;

  test.each(schemas)('an output schema that %s', async (_, text, message) => {
    writeFileSync(join(root, 's.json'), text);
    write({ subagent: withSchema });
    const refused = await refusal();
    expect(refused).toMatchObject({ code: 'SCHEMA_INVALID' });
    expect(refused!.message).toContain(`6:3: the output schema ${join(root, 's.json')} ${message}`);
  });

  test('an output schema that is not there', async () => {
    rmSync(join(root, 's.json'));
    write({ subagent: withSchema });
    expect(await refusal()).toMatchObject({ code: 'SCHEMA_INVALID' });
  });

  const texts: [string, string, string][] = [
    ['an empty file', '', 'the file is empty'],
    ['nothing but a comment', '# later\n', 'the file is empty'],
    ['a list', '- a\n', '1:1: the file is not a list of "key: value" lines'],
    ['no YAML', 'models:\n  - ref: "opus\n', 'this is not YAML: '],
    ['a key that is there twice', 'version: "1"\nversion: "2"\n', '2:1: this is not YAML: '],
    ['a tab for a space', 'subagent:\n\tname: x\n', '2:1: this is not YAML: '],
    ['two documents', 'version: "1"\n---\nversion: "1"\n', 'this is not YAML: '],
    ['bytes that are no text', '\xff\xfe', 'this is not UTF-8 text'],
    ['too much', `#${'x'.repeat(1024 * 1024)}`, 'this is 1048577 bytes; at most 1048576 are read'],
    [
      'aliases that unfold without end',
      `a: &a [x]\n${'bcdefghi'.replace(/./g, (key, at: number) => `${key}: &${key} [${`*${'abcdefgh'[at]},`.repeat(9)}]\n`)}`,
      'this is not YAML: ',
    ],
  ];
  test.each(texts)('%s', async (_, text, message) => {
    writeFileSync(file, text, 'latin1');
    expect(await refusal()).toMatchObject({ code: 'CONFIG_INVALID' });
    expect((await refusal())!.message).toContain(message);
  });

  test('no file, or a folder in its place', async () => {
    const nowhere = await refusal(join(root, 'nowhere.yaml'));
    expect(nowhere!.message).toBe(`${join(root, 'nowhere.yaml')}: there is no such file`);
    expect(nowhere!.suggestions).toContain('squad init --subagent NAME');
    mkdirSync(join(root, 'folder'));
    expect((await refusal(join(root, 'folder')))!.message).toContain('this is a folder');
  });

  test('everything that is wrong is in one error, in the order of the file', async () => {
    write({
      subagent: '\n  name: a b\n  outputSchemaPath: nowhere.json',
      defaults: '\n  model: opsu\n  systemPromptPath: nowhere.md',
      mcpServers: '\n  files: {}',
    });
    const { code, message } = (await refusal())!;
    expect(code).toBe('CONFIG_INVALID');
    expect(message.split('; ').map((each: string) => each.replace(`${file}:`, ''))).toEqual([
      '3:1: "subagent.description" is missing',
      '7:3: no model has the ref "opsu"',
      `8:3: ${join(root, 'nowhere.md')} does not exist`,
      '10:3: the server "files" has no "command"',
    ]);
  });
});

describe('the key of a model', () => {
  const model = (more: string) => write({ models: `\n  - { ref: opus, id: x, ${more} }` });

  test.each([
    ['anthropic', 'ANTHROPIC_API_KEY'],
    ['openai', 'OPENAI_API_KEY'],
    ['responses', 'OPENAI_API_KEY'],
    ['gemini', 'GEMINI_API_KEY'],
    ['groq', 'GROQ_API_KEY'],
    ['cerebras', 'CEREBRAS_API_KEY'],
    ['openrouter', 'OPENROUTER_API_KEY'],
    ['zai', 'Z_API_KEY'],
  ])('of type %s is in %s unless the file says otherwise', async (type, name) => {
    model(`type: ${type}`);
    const refused = await refusal(file, { [name]: '' });
    expect(refused).toMatchObject({ code: 'API_KEY_MISSING' });
    expect(refused!.message).toContain(`2:5: the API key is missing: the variable ${name} is not set`);
    expect((await read({ [name]: 'k' })).model.apiKeyEnv).toBe(name);
    model(`type: ${type}, api_key_env: MINE`);
    expect((await refusal(file, { [name]: 'k' }))!.message).toContain('the variable MINE is not set');
    expect((await read({ MINE: 'k' })).model.apiKeyEnv).toBe('MINE');
  });

  test('is not needed on this machine, and not sent elsewhere unless the file says so', async () => {
    for (const local of ['http://localhost:8000/v1', 'http://127.0.0.1:1/v1', 'http://[::1]:1/v1']) {
      model(`type: openai, base_url: "${local}"`);
      expect((await read({})).model).toMatchObject({ apiKeyEnv: null, baseUrl: local });
      expect(await findings({})).toEqual([]);
    }
    model('type: openai, base_url: "https://models.example/v1"');
    expect((await read()).model.apiKeyEnv).toBeNull();
    expect(await findings()).toEqual([
      'warning 2:39 no key is sent to models.example: there is no "api_key_env"',
    ]);
    model('type: openai, base_url: "https://api.openai.com/v1/"');
    expect((await read()).model).toMatchObject({
      apiKeyEnv: 'OPENAI_API_KEY',
      baseUrl: 'https://api.openai.com/v1/',
    });
  });

  test('stands in for other ways to log in, which is said', async () => {
    model('type: anthropic, api_key_env: "", auth_method: oauth');
    expect((await read()).model.apiKeyEnv).toBe('ANTHROPIC_API_KEY');
    expect(await findings()).toEqual([
      'warning 2:59 "oauth" is not there in Squad: the key in ANTHROPIC_API_KEY is used instead',
    ]);
    model('type: anthropic, auth_method: apikey');
    expect(await findings()).toEqual([]);
  });
});

describe('what has no effect is said, and keeps nothing from working', () => {
  const table: [string, Record<string, string | null>, string[]][] = [
    ['a key nobody knows', { deflauts: '{}' }, ['9:1 the key "deflauts" is not known and has no effect']],
    [
      'a key nobody knows, further in',
      { defaults: '\n  model: opus\n  codeMode:\n    enabeld: true' },
      ['9:5 the key "enabeld" is not known in "defaults.codeMode" and has no effect'],
    ],
    [
      'settings of CPE that Squad has no use for',
      {
        models:
          '\n  - ref: opus\n    id: x\n    type: anthropic\n    timeout: 5m\n    patchRequest: { jsonPatch: [] }\n    generationParams: { n: 2 }',
        defaults: '\n  model: opus\n  noStream: true\n  compaction: { enabled: true }',
      },
      [
        '5:5 "timeout" of a model has no effect',
        '6:21 "jsonPatch" has no effect: requests to the model go out unchanged',
        '7:25 "n" has no effect: one answer is asked for',
        '13:3 "noStream" has no effect: answers are always streamed',
        '14:3 "compaction" has no effect: a conversation is never shortened; one that outgrows the model fails',
      ],
    ],
    [
      'modules for programs',
      {
        defaults: '\n  model: opus\n  codeMode: { enabled: true, localModulePaths: [../x] }',
        mcpServers: '\n  files: { command: files-mcp }',
      },
      ['8:30 "localModulePaths" has no effect: a program has its tools and nothing else'],
    ],
    [
      'code mode without tools',
      { defaults: '\n  model: opus\n  codeMode: { enabled: true }' },
      ['8:3 code mode is on, but there are no servers: programs will have no tools'],
    ],
    [
      'a builtin among other servers',
      { mcpServers: '\n  files: { command: files-mcp }\n  editor: { type: builtin }' },
      ['11:13 the builtin server "editor" is not there in Squad: its tools are missing'],
    ],
  ];
  test.each(table)('%s', async (_, parts, expected) => {
    write(parts);
    expect(await findings()).toEqual(expected.map(each => `warning ${each}`));
    expect((await read()).name).toBe('review_changes');
  });

  test('a prompt that is a template is read as it is', async () => {
    writeFileSync(join(root, 'p.md'), 'You review.\nToday is {{ .Date }}.\n');
    write();
    expect((await read()).systemPrompt).toContain('{{ .Date }}');
    expect(await findings()).toEqual([
      `warning 8:3 the prompt ${join(root, 'p.md')} has "{{" in line 2: templates are not evaluated, the model reads it as it is`,
    ]);
  });

  test('what may have been meant is named', async () => {
    write({ mcpServer: '{}' });
    expect((await inspectSubagent(file, ENV)).findings).toMatchObject([
      { suggestion: 'Did you mean mcpServers?' },
    ]);
  });
});

describe('what a file says counts', () => {
  test('times, turns and variables in paths', async () => {
    write({
      defaults: '\n  model: opus\n  timeout: 1h30m\n  maxTurns: 7\n  systemPromptPath: $PROMPTS/p.md',
    });
    expect(await read({ ...ENV, PROMPTS: root })).toMatchObject({
      ...{ timeoutMs: 5_400_000, maxTurns: 7, systemPrompt: 'You review.\n' },
    });
    expect((await refusal())!.message).toContain('the variable PROMPTS is not set');
  });

  test('the prompt and code mode of a model come before those of all', async () => {
    writeFileSync(join(root, 'q.md'), 'Of the model.');
    write({
      models:
        '\n  - { ref: opus, id: x, type: anthropic, systemPromptPath: q.md, codeMode: { enabled: false } }',
      defaults: '\n  model: opus\n  systemPromptPath: p.md\n  codeMode: { enabled: true }',
    });
    expect(await read()).toMatchObject({ systemPrompt: 'Of the model.', codeMode: null });
  });

  test('merged keys and anchors', async () => {
    write({
      models: '\n  - &one { ref: opus, id: x, type: anthropic }\n  - { <<: *one, ref: mine, max_output: 5 }',
      defaults: '\n  model: mine',
    });
    expect((await read()).model).toMatchObject({ id: 'x', generation: { maxOutputTokens: 5 } });
  });

  test('limits of programs, and tools they do not have, by every name these may go by', async () => {
    write({
      defaults:
        '\n  model: opus\n  codeMode: { enabled: true, maxTimeout: 5, largeOutputCharLimit: 9, excludedTools: [edit] }',
      mcpServers: '\n  text_editor: { command: x }\n  files: { command: y }',
    });
    expect((await read()).codeMode).toMatchObject({
      ...{ timeoutMs: 5000, outputChars: 9 },
      excludedTools: ['edit', 'text-editor__edit', 'files__edit'],
    });
  });
});
