/** The schema that editors check a subagent's file by, and what Squad itself says of the same file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { lintSubagent } from '../src/workspace/subagents/subagent-file.ts';

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'schemas', 'subagent.schema.json'), 'utf8'),
);
const isSound = new Ajv({ strict: false }).compile(schema);
const root = mkdtempSync(join(tmpdir(), 'squad-subagent-schema-'));
const file = join(root, 'a.subagent.yaml');
afterAll(() => rmSync(root, { recursive: true }));

const MODEL = { ref: 'opus', id: 'x', type: 'anthropic' };
const SOUND = {
  version: '1.0',
  models: [MODEL],
  subagent: { name: 'a', description: 'b' },
  defaults: { model: 'opus' },
};
const model = (more: object) => ({ models: [{ ...MODEL, ...more }] });
const defaults = (more: object) => ({ defaults: { model: 'opus', ...more } });
const identity = (more: object) => ({ subagent: { name: 'a', description: 'b', ...more } });
const server = (more: object) => ({ mcpServers: { s: more } });

/** Both of one file: whether editors take it, and what Squad finds. */
async function judge(more: object) {
  const content = JSON.parse(JSON.stringify({ ...SOUND, ...more }));
  writeFileSync(file, stringify(content));
  const found = await lintSubagent(file, { ANTHROPIC_API_KEY: 'k' });
  return { isTaken: isSound(content), found: found.map(({ severity, message }) => `${severity} ${message}`) };
}

test('the schema says which format it is of', () => {
  expect(schema).toMatchObject({
    $id: 'urn:squad-mcp:subagent:1.0',
    $schema: expect.stringContaining('draft-07'),
  });
});

describe('both have nothing against', () => {
  test.each<[string, object]>([
    ['what is needed and no more', {}],
    ['no version', { version: undefined }],
    ['a version that YAML takes for a number', { version: 1 }],
    ['the longest name', identity({ name: 'a'.repeat(64) })],
    [
      'each type',
      {
        models: ['openai', 'responses', 'gemini', 'google', 'groq', 'cerebras', 'openrouter', 'zai']
          .map(type => ({ ref: type, id: 'x', type }))
          .concat(MODEL),
      },
    ],
    ['another address', model({ base_url: 'http://127.0.0.1:11434/v1' })],
    ['the name of a variable', model({ api_key_env: 'ANTHROPIC_API_KEY' })],
    ['no name of a variable', model({ api_key_env: '' })],
    [
      'limits at their ends',
      defaults({ maxTurns: 1000, timeout: '596h', codeMode: { enabled: false, maxTimeout: 86_400 } }),
    ],
    ['times', defaults({ timeout: '1h30m' })],
    ['seconds', defaults({ timeout: 90 })],
    ['words for thinking', defaults({ generationParams: { thinkingBudget: 'high', temperature: 2 } })],
    ['a program', server({ command: 'x', args: ['a', 1, true], env: { PORT: 8080 } })],
    ['a program with its type', server({ type: 'stdio', command: 'x' })],
    ['an address', server({ url: 'https://mcp.example/' })],
    [
      'an address with its type',
      server({ type: 'sse', url: 'https://mcp.example/', headers: { 'X-A': 'b' } }),
    ],
  ])('%s', { tags: ['E6'] }, async (_, more) => {
    expect(await judge(more)).toEqual({ isTaken: true, found: [] });
  });
});

describe('both find fault with', () => {
  test.each<[string, object, 'error' | 'warning']>([
    ['a key nobody knows', { modles: [] }, 'warning'],
    ['a key nobody knows further in', defaults({ codeMode: { enabeld: true } }), 'warning'],
    ['a type in capitals', model({ type: 'Anthropic' }), 'warning'],
    ['no subagent', { subagent: undefined }, 'error'],
    ['no models', { models: undefined }, 'error'],
    ['an empty list of models', { models: [] }, 'error'],
    ['no defaults', { defaults: undefined }, 'error'],
    ['no default model', { defaults: {} }, 'error'],
    ['a version nobody knows', { version: '9.0' }, 'error'],
    ['a number of a version nobody knows', { version: 2 }, 'error'],
    ['a name that is no text', identity({ name: 1 }), 'error'],
    ['a name no tool can have', identity({ name: 'a b' }), 'error'],
    ['a name that is too long', identity({ name: 'a'.repeat(65) }), 'error'],
    ['a description of nothing', identity({ description: ' ' }), 'error'],
    ['a model without an id', { models: [{ ref: 'opus', type: 'anthropic' }] }, 'error'],
    ['a type nobody knows', model({ type: 'nobody' }), 'error'],
    [
      'a type nobody knows, of a model that is not used',
      { models: [MODEL, { ...MODEL, ref: 'b', type: 'nobody' }] },
      'error',
    ],
    ['an address that is none', model({ base_url: 'ftp://x' }), 'error'],
    ['a key for the name of a variable', model({ api_key_env: 'sk-0123' }), 'error'],
    ['a header that cannot be sent', model({ patchRequest: { includeHeaders: { 'a b': 'c' } } }), 'error'],
    ['prices below nothing', model({ input_cost_per_million: -1, output_cost_per_million: 1 }), 'error'],
    ['more tokens than anybody has', model({ max_output: 1e9 }), 'error'],
    ['a temperature off the scale', defaults({ generationParams: { temperature: 3 } }), 'error'],
    ['no turn', defaults({ maxTurns: 0 }), 'error'],
    ['turns without end', defaults({ maxTurns: 1e9 }), 'error'],
    ['turns that are no number', defaults({ maxTurns: 'many' }), 'error'],
    ['a time that is none', defaults({ timeout: 'soon' }), 'error'],
    ['more seconds than a timer takes', defaults({ timeout: 1e9 }), 'error'],
    ['programs without end', defaults({ codeMode: { enabled: false, maxTimeout: 1e9 } }), 'error'],
    ['a server of no known type', server({ type: 'pipe', command: 'x' }), 'error'],
    ['a server with nothing to start', server({}), 'error'],
    ['a program without a command', server({ type: 'stdio', url: 'https://mcp.example/' }), 'error'],
    ['an address that is missing', server({ type: 'http', command: 'x' }), 'error'],
    ['an address of a server that is none', server({ type: 'http', url: 'ftp://x' }), 'error'],
    ['a call that may take a day', server({ command: 'x', timeout: 86_400 }), 'warning'],
    ['a default model without a name', { defaults: { model: '' } }, 'error'],
    ['a variable that cannot be', server({ command: 'x', env: { 'A=B': 'c' } }), 'error'],
    ['a server without a name', { mcpServers: { '': { command: 'x' } } }, 'error'],
    ['servers in a list', { mcpServers: [{ command: 'x' }] }, 'error'],
  ])('%s', { tags: ['E6'] }, async (_, more, severity) => {
    const { isTaken, found } = await judge(more);
    expect(isTaken).toBe(false);
    expect(found).toContainEqual(expect.stringMatching(new RegExp(`^${severity} `)));
    // In our words, not those of whoever checks.
    expect(found.join('\n')).not.toMatch(/Invalid|expected|received|Too (big|small)|regex|\/\^/);
  });

  test('a server with the name that every object has', async () => {
    const content = JSON.parse(JSON.stringify(SOUND));
    const text = `${JSON.stringify(content).slice(0, -1)}, "mcpServers": { "__proto__": { "command": "x" } } }`;
    writeFileSync(file, text);
    expect(isSound(JSON.parse(text))).toBe(false);
    expect((await lintSubagent(file, { ANTHROPIC_API_KEY: 'k' })).map(({ severity }) => severity)).toEqual([
      'error',
    ]);
  });
});
