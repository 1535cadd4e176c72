import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawMcp } from '../../support/raw-mcp.ts';
import { BIN, ended, type Ran } from '../../support/squad.ts';
import { Subagents } from '../../support/subagents.ts';

let subagents: Subagents;
beforeAll(async () => {
  subagents = await Subagents.start();
});
afterAll(() => subagents[Symbol.asyncDispose]());

function serve(args: string[], env: Record<string, string> = {}): Promise<Ran> {
  const child = subagents.squad.start(['mcp', 'serve', ...args], { env });
  child.stdin!.end();
  return ended(child);
}

const identity = (more: object) => ({
  more: { subagent: { name: 'it', description: 'What it does', ...more } },
});

describe('a file that cannot be served ends the server at once, with the reason on standard error and nothing else', () => {
  test.each<{ what: string; write(): string; says: RegExp; env?: Record<string, string> }>([
    {
      what: 'a file that is not there',
      write: () => join(subagents.squad.workspace, 'nowhere.yaml'),
      says: /nowhere\.yaml.*no such file[\s\S]*squad init --subagent/,
    },
    {
      what: 'a file that is not YAML',
      write: () => subagents.squad.write('broken.yaml', 'models: [\n'),
      says: /broken\.yaml.*not YAML/,
    },
    {
      what: 'a file without a subagent',
      write: () => subagents.write('it', { more: { subagent: undefined } }),
      says: /subagent/,
    },
    {
      what: 'a subagent without a name',
      write: () => subagents.write('it', { more: { subagent: { description: 'What it does' } } }),
      says: /name/,
    },
    {
      what: 'a subagent without a description',
      write: () => subagents.write('it', { more: { subagent: { name: 'it' } } }),
      says: /description/,
    },
    {
      what: 'a system prompt that cannot be read',
      write: () =>
        subagents.write('it', { more: { defaults: { model: 'main', systemPromptPath: './no.prompt' } } }),
      says: /no\.prompt/,
    },
    {
      what: 'a schema that cannot be read',
      write: () => subagents.write('it', identity({ outputSchemaPath: './no.schema.json' })),
      says: /no\.schema\.json/,
    },
    {
      what: 'a schema that is none',
      write: () => {
        subagents.squad.write('bad.schema.json', '{"type": 7}');
        return subagents.write('it', identity({ outputSchemaPath: './bad.schema.json' }));
      },
      says: /bad\.schema\.json/,
    },
    {
      what: 'a model that is not in the file',
      write: () => subagents.write('it', { more: { defaults: { model: 'other' } } }),
      says: /other/,
    },
    {
      what: 'no model at all',
      write: () => subagents.write('it', { more: { defaults: {} } }),
      says: /model/,
    },
    {
      what: 'a key that is not set',
      write: () => subagents.write('it'),
      says: /API_KEY_MISSING.*MODEL_KEY/s,
      env: { MODEL_KEY: '' },
    },
  ])('$what', { tags: ['E6'] }, async ({ write, says, env }) => {
    const { code, stdout, stderr } = await serve(['--config', write()], env);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr).toMatch(/^squad mcp serve: [A-Z_]+: /);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('code mode without a sandbox is no fault of the file', async () => {
    const file = subagents.write('it', {
      more: { defaults: { model: 'main', codeMode: { enabled: true } } },
    });
    const { code, stdout, stderr } = await serve(['--config', file], { PATH: '/nowhere' });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/SANDBOX_MISSING.*bubblewrap/s);
  });

  test('a home that cannot be used is no fault of the file', { tags: ['E6'] }, async () => {
    const home = join(subagents.squad.root, 'closed');
    subagents.squad.write('../closed', '');
    chmodSync(home, 0o400);
    const { code, stdout, stderr } = await serve(['--config', subagents.write('it')], { SQUAD_HOME: home });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('HOME_UNUSABLE');
  });

  test.each([
    { args: [], says: '--config FILE is required' },
    { args: ['--config'], says: '--config needs a file' },
    { args: ['--config', 'x', '--port', '1'], says: 'unknown argument --port' },
    { args: ['x.yaml'], says: 'unknown argument x.yaml' },
    { args: ['--config', 'x', '--config=y'], says: '--config was given twice: x and y' },
  ])('arguments $args', async ({ args, says }) => {
    const { code, stdout, stderr } = await serve(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
  });
});

describe('files that cannot be served', () => {
  const NO_KEY = { MODEL_KEY: '' };

  test('answers a client with the reason, however it begins, until the client leaves', {
    tags: ['E6'],
  }, async () => {
    subagents.write('it');
    const client = new RawMcp(subagents.squad, { args: subagents.args('it'), env: NO_KEY });
    for (const method of ['server/discover', 'initialize', 'tools/list'])
      expect(await client.ask(method)).toMatchObject({
        error: { message: expect.stringContaining('MODEL_KEY'), data: { code: 'API_KEY_MISSING' } },
      });
    expect(await client.close()).toMatchObject({ code: 2 });
  });

  test('ends by itself when nobody says anything', async () => {
    const child = subagents.squad.start(['mcp', 'serve', '--config', subagents.write('it')], { env: NO_KEY });
    expect(await ended(child)).toMatchObject({ code: 2, stdout: '' });
  });
});

test('help is for people: on standard error, where the protocol is not', { tags: ['E7'] }, async () => {
  const { code, stdout, stderr } = await serve(['--help']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toContain('squad mcp serve --config FILE');
});

test('a relative path counts from the folder it is started in', async () => {
  subagents.write('near');
  const child = subagents.squad.start(['mcp', 'serve', '--config', './near.yaml']);
  child.stdin!.end();
  expect(await ended(child)).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('fields without effect are reported on standard error, once, and the file is served', async () => {
  const file = subagents.write('noted', { more: { defaults: { model: 'main', noStream: true } } });
  const client = await subagents.client('noted');
  expect((await client.ask('tools/list')).result).toMatchObject({ tools: [{ name: 'noted' }] });
  await subagents.squad.run(['hub', 'stop']);
  expect((await client.ask('tools/list')).result).toMatchObject({ tools: [{ name: 'noted' }] });
  const { code, stderr } = await client.close();
  expect({ code, lines: stderr.trim().split('\n') }).toEqual({
    code: 0,
    lines: [
      expect.stringMatching(/^squad mcp serve: warning: .*noted\.yaml:\d+:\d+: "noStream" has no effect/),
    ],
  });
  expect(stderr).toContain(file);
});

test('a client waits for little when it starts a subagent', () => {
  expect(statSync(join(BIN, '..', '..', 'dist', 'relay.cjs')).size).toBeLessThanOrEqual(20_000);
});
