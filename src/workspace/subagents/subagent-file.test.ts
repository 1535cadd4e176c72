import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ENV, SOUND, sampleSubagent } from '../testing/sample-subagent.ts';
import { durationMs, lintSubagent, readSubagent } from './subagent-file.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'subagents');
const { root, file, write, read, refusal, findings } = sampleSubagent();

describe('files of CPE work unchanged', () => {
  test('a subagent that thinks, with a schema', { tags: ['E1'] }, async () => {
    const path = join(fixtures, 'review_agent.cpe.yaml');
    expect(await lintSubagent(path, ENV)).toEqual([]);
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

  test('a subagent that works, with code mode and servers', { tags: ['E1'] }, async () => {
    const path = join(fixtures, 'coder_agent.cpe.yaml');
    expect(await lintSubagent(path, ENV)).toEqual([]);
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
    ['text for it', { subagent: 'x' }, 'CONFIG_INVALID', '3:1: "subagent" must be an object', ''],
    ['no name', { subagent: '\n  description: x' }, 'CONFIG_INVALID', '3:1: "subagent.name" is missing', ''],
    [
      'a name no tool can have',
      { subagent: '\n  name: review changes\n  description: x' },
      ...([
        'CONFIG_INVALID',
        '4:3: "subagent.name" cannot be the name of a tool: that is 1 to 64 letters, digits, _ and -',
        '',
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
      ...(['CONFIG_INVALID', '4:3: "subagent.name" must be text, not a number', ''] as const),
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
      ...([
        'CONFIG_INVALID',
        '5:3: "subagent.description" must not be empty',
        'Purpose of the tool',
      ] as const),
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
    ['models by name', { models: '{ a: 1 }' }, 'CONFIG_INVALID', '1:1: "models" must be a list', ''],
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
      ...([
        'CONFIG_INVALID',
        '2:25: "models.0.type" must be one of anthropic, openai',
        'Did you mean anthropic?',
      ] as const),
    ],
    [
      'two models of one ref',
      { models: '\n  - { ref: opus, id: x, type: openai }\n  - { ref: opus, id: y, type: openai }' },
      ...(['CONFIG_INVALID', '3:7: another model already has the ref "opus"', ''] as const),
    ],
    [
      'an address that is none',
      { models: '\n  - { ref: opus, id: x, type: openai, base_url: "ftp://x" }' },
      ...(['CONFIG_INVALID', '"models.0.base_url" is not an http or https URL', ''] as const),
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
      ...([
        'CONFIG_INVALID',
        '8:3: "defaults.timeout" must be a time of at most 24 days: 90s, 5m or 1h30m',
        '',
      ] as const),
    ],
    [
      'a version of the format nobody knows',
      { version: '"9.0"' },
      ...(['CONFIG_INVALID', '9:1: "version" is not a supported format version; use "1.0"', ''] as const),
    ],
    ['a version that is a list', { version: '[1]' }, ...(['CONFIG_INVALID', 'use "1.0"', ''] as const)],
    [
      'turns without end',
      { defaults: '\n  model: opus\n  maxTurns: 1e9' },
      ...(['CONFIG_INVALID', '8:3: "defaults.maxTurns" must be at most 1000', 'one call'] as const),
    ],
    [
      'half a turn',
      { defaults: '\n  model: opus\n  maxTurns: 0.5' },
      ...(['CONFIG_INVALID', '"defaults.maxTurns" must be a whole number, not a fraction', ''] as const),
    ],
    [
      'programs that may take years',
      { defaults: '\n  model: opus\n  codeMode: { enabled: true, maxTimeout: 1e9 }' },
      ...(['CONFIG_INVALID', '"defaults.codeMode.maxTimeout" must be at most 86400', 'Seconds'] as const),
    ],
    [
      'a time longer than a timer takes',
      { defaults: '\n  model: opus\n  timeout: 999999h' },
      ...(['CONFIG_INVALID', '"defaults.timeout" must be a time of at most 24 days', '1h30m'] as const),
    ],
    [
      'more tokens than anybody has',
      { models: '\n  - { ref: opus, id: x, type: anthropic, max_output: 1e12 }' },
      ...(['CONFIG_INVALID', '"models.0.max_output" must be at most 10000000', 'Tokens'] as const),
    ],
    [
      'a header that cannot be sent',
      {
        models: '\n  - { ref: opus, id: x, type: openai, patchRequest: { includeHeaders: { "X Y": a } } }',
      },
      ...([
        'CONFIG_INVALID',
        '"models.0.patchRequest.includeHeaders.X Y" is not a name that a header can have',
        '',
      ] as const),
    ],
    [
      'a server that is named like what all objects have',
      { mcpServers: '\n  __proto__: { command: x }' },
      ...(['CONFIG_INVALID', '10:3: "__proto__" cannot be the name of a server', 'another'] as const),
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
      ...([
        'CONFIG_INVALID',
        '"mcpServers.files.type" must be one of stdio, http, sse, builtin',
        '',
      ] as const),
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
    [
      'is not a JSON Schema',
      '{ "type": "object", "properties": 3 }',
      'is not a JSON Schema: /properties must be object',
    ],
    [
      'is of a draft nobody knows',
      '{ "$schema": "http://x.example/s", "type": "object" }',
      'is not a JSON Schema: its "$schema" is "http://x.example/s", which is not supported',
    ],
    ['is of a list', '{ "type": "array" }', 'is not the schema of an object'],
    ['says nothing of what it is of', '{}', 'is not the schema of an object'],
  ];
  const withSchema = `${SOUND.subagent}\n  outputSchemaPath: s.json`;

  test.each(schemas)('an output schema that %s', { tags: ['E6'] }, async (_, text, message) => {
    writeFileSync(join(root, 's.json'), text);
    write({ subagent: withSchema });
    const refused = await refusal();
    expect(refused).toMatchObject({ code: 'SCHEMA_INVALID' });
    expect(refused!.message).toContain(`6:3: the output schema ${join(root, 's.json')} ${message}`);
  });

  test('an output schema of an older draft that does not say so', async () => {
    writeFileSync(join(root, 's.json'), '{ "type": "object", "properties": { "a": { "items": [{}] } } }');
    write({ subagent: withSchema });
    expect((await refusal())!.suggestions).toContain('another draft');
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
    [
      'two documents',
      'version: "1"\n---\nversion: "1"\n',
      '2:1: the file holds several documents, separated by "---"; a subagent is one',
    ],
    ['bytes that are no text', '\xff\xfe', 'the file is not UTF-8 text'],
    ['too much', `#${'x'.repeat(1024 * 1024)}`, 'the file is 1048577 bytes; at most 1048576 are read'],
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
    expect((await refusal(join(root, 'folder')))!.message).toContain('the file is a folder');
  });

  test('everything that is wrong is in one error, in the order of the file', { tags: ['E6'] }, async () => {
    write({
      subagent: '\n  name: a b\n  outputSchemaPath: nowhere.json',
      defaults: '\n  model: opsu\n  systemPromptPath: nowhere.md',
      mcpServers: '\n  files: {}',
    });
    const { code, message } = (await refusal())!;
    expect(code).toBe('CONFIG_INVALID');
    expect(message.split('; ').map((each: string) => each.replace(`${file}:`, ''))).toEqual([
      '3:1: "subagent.description" is missing',
      '4:3: "subagent.name" cannot be the name of a tool: that is 1 to 64 letters, digits, _ and -',
      `5:3: ${join(root, 'nowhere.json')} does not exist`,
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
  ])('of type %s is in %s unless the file says otherwise', { tags: ['E6'] }, async (type, name) => {
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
      'warning 2:59 Squad does not support "oauth": the key in ANTHROPIC_API_KEY is used instead',
    ]);
    model('type: anthropic, auth_method: apikey');
    expect(await findings()).toEqual([]);
  });
});

describe('fields of a file have effect', () => {
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
      excludedTools: ['edit', 'text_editor__edit', 'files__edit'],
    });
  });
});

test.each([
  ['5m', 300_000],
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1500],
  ['250ms', 250],
  ['60', 60_000],
  [60, 60_000],
  ['600h', null],
  ['0s', null],
  ['-5m', null],
  ['5 m', null],
  ['5d', null],
  ['', null],
])('%j is %j ms', (text, ms) => expect(durationMs(text)).toBe(ms));
