import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { lintSubagent, readSubagent } from './subagent-file.ts';

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
  (await lintSubagent(file, env)).map(
    ({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`,
  );
const read = (env: Record<string, string> = ENV) => readSubagent(file, env);

describe('files of CPE work unchanged', () => {
  test('one that thinks, with a schema', async () => {
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

  test('one that works, with code mode and servers', async () => {
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
        'What the tool is for',
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
      ...(['CONFIG_INVALID', '3:7: another model has the ref "opus"', ''] as const),
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
      ...([
        'CONFIG_INVALID',
        '9:1: "version" is not a version of the format that Squad knows: that is "1.0"',
        '',
      ] as const),
    ],
    ['a version that is a list', { version: '[1]' }, ...(['CONFIG_INVALID', 'that is "1.0"', ''] as const)],
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
      'is not a JSON Schema: its "$schema" is "http://x.example/s", which is no draft',
    ],
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

  test('an output schema of an older draft that does not say so', async () => {
    writeFileSync(join(root, 's.json'), '{ "type": "object", "properties": { "a": { "items": [{}] } } }');
    write({ subagent: withSchema });
    expect((await refusal())!.suggestions).toContain('name the draft');
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
      '2:1: the file holds several documents, parted by "---"; a subagent is one',
    ],
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
      '4:3: "subagent.name" cannot be the name of a tool: that is 1 to 64 letters, digits, _ and -',
      `5:3: ${join(root, 'nowhere.json')} does not exist`,
      '7:3: no model has the ref "opsu"',
      `8:3: ${join(root, 'nowhere.md')} does not exist`,
      '10:3: the server "files" has no "command"',
    ]);
  });
});

test('a mistake in one part hides nothing in the others, nor in its own', async () => {
  write({
    version: '"2"',
    models:
      '\n  - { ref: opus, type: openai, base_url: "http://u:p@h/", patchRequest: { jsonPatch: [] } }' +
      '\n  - { ref: other, id: y, type: nobody }',
    subagent: '\n  name: 7\n  description: d\n  outputSchemaPath: nowhere.json',
    defaults:
      '\n  model: opus\n  maxTurns: many\n  timeout: soon\n  noStream: true\n  codeMode: { enabled: yes, maxTimeout: 0, localModulePaths: [a] }',
    mcpServers: '\n  files: { command: npx, args: [server], timeout: long }\n  web: { type: http, url: 3 }',
  });
  expect(await findings({})).toEqual([
    'error 2:5 "models.0.id" is missing',
    'warning 2:32 this looks like a secret in a file that others read',
    'warning 2:32 no key is sent to h: there is no "api_key_env"',
    'warning 2:75 "jsonPatch" has no effect: requests to the model go out unchanged',
    `error 3:26 "models.1.type" must be one of anthropic, openai, responses, gemini, google, groq, cerebras, openrouter, zai (what speaks OpenAI's format is "openai" with its base_url)`,
    'error 5:3 "subagent.name" must be text, not a number',
    `error 7:3 ${join(root, 'nowhere.json')} does not exist`,
    'error 10:3 "defaults.maxTurns" must be a number, not text',
    'error 11:3 "defaults.timeout" must be a time of at most 24 days: 90s, 5m or 1h30m',
    'warning 12:3 "noStream" has no effect: answers are always streamed',
    'error 13:15 "defaults.codeMode.enabled" must be true or false, not text',
    'error 13:29 "defaults.codeMode.maxTimeout" must be at least 1',
    'error 14:1 "version" is not a version of the format that Squad knows: that is "1.0"',
    'warning 16:33 server has no version, so it may be another program each time',
    'error 16:42 "mcpServers.files.timeout" must be a number, not text',
    'error 17:22 "mcpServers.web.url" must be text, not a number',
  ]);
});

describe('what only this machine lacks is a warning to whoever checks the file, and an error to whoever uses it', () => {
  const table: [string, Record<string, string>, string, string][] = [
    [
      'the key of the model',
      {},
      'API_KEY_MISSING',
      '2:5 the API key is missing: the variable ANTHROPIC_API_KEY is not set',
    ],
    [
      'a variable of a server',
      { mcpServers: '\n  exa: { command: exa, env: { EXA_KEY: $EXA_KEY } }' },
      'CONFIG_INVALID',
      '10:31 The variable EXA_KEY is not set, so `squad mcp serve` does not start: the server exa needs it',
    ],
    [
      'a variable in a path',
      { defaults: '\n  model: opus\n  systemPromptPath: $PROMPTS/p.md' },
      'CONFIG_INVALID',
      '8:3 the variable PROMPTS is not set',
    ],
  ];
  test.each(table)('%s', async (what, parts, code, message) => {
    const env: Record<string, string> = what === 'the key of the model' ? {} : ENV;
    write(parts);
    expect(await findings(env)).toEqual([`warning ${message}`]);
    expect(await refusal(file, env)).toMatchObject({ code });
  });

  test('a program that is not there, where it is known what is', async () => {
    const program = join(root, 'files-mcp');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(root, 'text'), '', { mode: 0o644 });
    write({
      mcpServers:
        '\n  here: { command: files-mcp }\n  gone: { command: no-such-mcp }\n  away: { command: /nowhere/mcp }' +
        `\n  beside: { command: "\${SUBAGENT_DIR}/files-mcp" }\n  text: { command: "\${SUBAGENT_DIR}/text" }\n  there: { command: ./bin/mcp }`,
    });
    expect(await findings({ ...ENV, PATH: `/nowhere:${root}` })).toEqual([
      'warning 11:11 the program "no-such-mcp" is not in PATH',
      'warning 12:11 the program "/nowhere/mcp" is not there',
      `warning 14:11 the program "${join(root, 'text')}" is not one that can be started`,
    ]);
    expect(await findings(ENV)).toEqual([]);
    expect((await readSubagent(file, { ...ENV, PATH: '/nowhere' })).name).toBe('review_changes');
  });
});

describe('a secret in the file', () => {
  const KEY = 'sk-ant-api03-0123456789abcdef';
  const ofModel = (more: string) => ({ models: `\n  - { ref: opus, id: x, type: anthropic, ${more} }` });
  const ofServer = (more: string) => ({ mcpServers: `\n  s: { command: x, ${more} }` });
  const remote = (more: string) => ({ mcpServers: `\n  s: { type: http, ${more} }` });

  test.each<[string, Record<string, string>, string]>([
    ['a header of a model', ofModel(`patchRequest: { includeHeaders: { X-Team: ${KEY} } }`), 'X-Team'],
    [
      'a header that is for secrets',
      ofModel('patchRequest: { includeHeaders: { Authorization: Bearer 0123456789 } }'),
      'Authorization',
    ],
    ['who asks, in the address', ofModel('base_url: "https://0123456789@api.anthropic.com/v1"'), 'base_url'],
    ['a key in the address', ofModel(`base_url: "https://api.anthropic.com/v1?key=${KEY}"`), 'base_url'],
    [
      'a model that is not used',
      {
        models: `${SOUND.models}\n  - { ref: b, id: x, type: openai, base_url: "http://u:p4ssw0rd@localhost/" }`,
      },
      'base_url',
    ],
    ['an argument', ofServer(`args: [${KEY}]`), 'args.0'],
    ['an argument after its name', ofServer('args: [--api-key, 0123456789abcdef]'), 'args.1'],
    ['an argument with its name', ofServer('args: ["--token=0123456789abcdef"]'), 'args.0'],
    ['a variable of any name', ofServer('env: { TEAM: ghp_0123456789abcdefghij0123 }'), 'env.TEAM'],
    ['a header of a server', remote(`url: "https://mcp.example/", headers: { X-Team: ${KEY} }`), 'X-Team'],
    ['the address of a server', remote('url: "https://u:p4ssw0rd@mcp.example/"'), 'url'],
  ])('is found: %s', async (_, parts, path) => {
    write(parts);
    const found = await lintSubagent(file, ENV);
    expect(found).toMatchObject([
      {
        severity: 'warning',
        path: expect.stringContaining(path),
        message: expect.stringMatching(/^this looks like a secret in a file that others read$/i),
        suggestion: expect.stringContaining('Put it into a variable'),
      },
    ]);
    expect(JSON.stringify(found)).not.toContain('0123456789');
    expect((await read()).name).toBe('review_changes');
  });

  test.each<[string, Record<string, string>]>([
    ['a variable', ofModel('patchRequest: { includeHeaders: { Authorization: Bearer $ANTHROPIC_API_KEY } }')],
    [
      'a variable in the address',
      ofModel('base_url: "https://me:$ANTHROPIC_API_KEY@api.anthropic.com/v1?key=$ANTHROPIC_API_KEY"'),
    ],
    ['a variable as who asks', ofModel('base_url: "https://$ANTHROPIC_API_KEY@api.anthropic.com/v1"')],
    ['where it is', ofServer('args: [--token-file, /run/token-of-mine, --key, ./server.pem]')],
    ['an ordinary word', ofServer('args: [task-runner-with-a-long-name], env: { MODE: development }')],
  ])('is not %s', async (_, parts) => {
    write(parts);
    expect(await findings({ ...ENV, ANTHROPIC_API_KEY: 'sk-0123456789' })).toEqual([]);
  });
});

describe('a file with far too much wrong in it', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, at) => `\n    strange${at}: 1`).join('');
  const model = '\n  - ref: opus\n    id: x\n    type: anthropic';

  test('is told of what comes first, and how much more there is', async () => {
    write({ models: `${model}${keys(4_000)}` });
    const found = await lintSubagent(file, ENV);
    expect(found).toHaveLength(101);
    expect(found[0]).toMatchObject({ line: 5, path: 'models.0.strange0' });
    expect(found.at(-1)).toMatchObject({
      ...{ severity: 'warning', line: null, message: '3900 more warnings', more: 3_900 },
    });
    expect((await read()).model.id).toBe('x');
  });

  test('hides no error behind warnings', async () => {
    const env = Array.from({ length: 1_000 }, (_, at) => `\n      K${at}: [1]`).join('');
    write({ models: `${model}${keys(200)}`, mcpServers: `\n  s:\n    command: x\n    env:${env}` });
    const found = await lintSubagent(file, ENV);
    const errors = found.filter(({ severity }) => severity === 'error');
    expect(errors).toHaveLength(101);
    expect(errors[0]).toMatchObject({ path: 'mcpServers.s.env.K0' });
    expect(errors.at(-1)).toMatchObject({ message: '900 more errors', more: 900 });
    expect(await refusal()).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/900 more errors$/),
    });
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
  test('a format in the output schema that nobody checks', async () => {
    const a = { type: 'string', format: 'no-such-format' };
    const schema = { type: 'object', properties: { a, b: a, c: { type: 'string', format: 'date' } } };
    writeFileSync(join(root, 's.json'), JSON.stringify(schema));
    write({ subagent: `${SOUND.subagent}\n  outputSchemaPath: s.json` });
    expect(await findings()).toEqual([
      `warning 6:3 the output schema ${join(root, 's.json')} has the format "no-such-format", which nobody checks`,
    ]);
    expect(await readSubagent(file, ENV)).toMatchObject({ outputSchema: schema });
  });

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
    expect(await lintSubagent(file, ENV)).toMatchObject([{ suggestion: 'Did you mean mcpServers?' }]);
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
