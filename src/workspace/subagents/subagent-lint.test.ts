import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ENV, SOUND, sampleSubagent } from '../testing/sample-subagent.ts';
import { lintSubagent, readSubagent } from './subagent-file.ts';

const { root, file, write, read, refusal, findings } = sampleSubagent();

test('a mistake in one part hides nothing in the others, nor in its own', { tags: ['E6'] }, async () => {
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
    `error 3:26 "models.1.type" must be one of anthropic, openai, responses, gemini, google, groq, cerebras, openrouter, zai (for a server that is compatible with OpenAI: "openai" with its base_url)`,
    'error 5:3 "subagent.name" must be text, not a number',
    `error 7:3 ${join(root, 'nowhere.json')} does not exist`,
    'error 10:3 "defaults.maxTurns" must be a number, not text',
    'error 11:3 "defaults.timeout" must be a time of at most 24 days: 90s, 5m or 1h30m',
    'warning 12:3 "noStream" has no effect: answers are always streamed',
    'error 13:15 "defaults.codeMode.enabled" must be true or false, not text',
    'error 13:29 "defaults.codeMode.maxTimeout" must be at least 1',
    'error 14:1 "version" is not a supported format version; use "1.0"',
    'warning 16:33 server has no version, so it may be another program each time',
    'error 16:42 "mcpServers.files.timeout" must be a number, not text',
    'error 17:22 "mcpServers.web.url" must be text, not a number',
  ]);
});

describe('a problem of this machine only is a warning for a check of the file, and an error for its use', () => {
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
      'warning 12:11 the program "/nowhere/mcp" does not exist',
      `warning 14:11 the program "${join(root, 'text')}" is not executable`,
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
  ])('is found: %s', { tags: ['E6'] }, async (_, parts, path) => {
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

  test('is reported with the first findings, and the number of further ones', async () => {
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

describe('fields without effect are reported, and do not stop anything', () => {
  test('a format in the output schema that nobody checks', async () => {
    const a = { type: 'string', format: 'no-such-format' };
    const schema = { type: 'object', properties: { a, b: a, c: { type: 'string', format: 'date' } } };
    writeFileSync(join(root, 's.json'), JSON.stringify(schema));
    write({ subagent: `${SOUND.subagent}\n  outputSchemaPath: s.json` });
    expect(await findings()).toEqual([
      `warning 6:3 the output schema ${join(root, 's.json')} has the format "no-such-format", which is not checked`,
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
      ['11:13 Squad has no builtin server "editor": its tools are missing'],
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

  test('a similar field is suggested', async () => {
    write({ mcpServer: '{}' });
    expect(await lintSubagent(file, ENV)).toMatchObject([{ suggestion: 'Did you mean mcpServers?' }]);
  });
});
