import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/operations/runs/run-result.ts';
import { mock, type Step } from '../engines/model-server/script.ts';
import { type ModelServer, startModelServer } from '../engines/model-server/server.ts';
import { sdkEchoBlock, variable } from '../servers/start.ts';
import { callTool, isAlive, TestSquad, until } from '../support/squad.ts';
import { WIRES } from './talking-agent.ts';

const KEY = 'sk-of-this-test-0123456789';
const SCHEMA = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };

let model: ModelServer;
let squad: TestSquad;
let client: Client;

beforeAll(async () => {
  model = await startModelServer();
  squad = new TestSquad({
    ...{ ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY, GEMINI_API_KEY: KEY },
    ...{ ANTHROPIC_BASE_URL: model.url, OPENAI_BASE_URL: `${model.url}/v1`, GEMINI_BASE_URL: model.url },
  });
  // The gateway keeps to itself what its servers are given; the agent cannot do without its key.
  const sums = sdkEchoBlock({ env: { KEY: variable('ANTHROPIC_API_KEY') } });
  squad.write('.squad/mcp-config.json', JSON.stringify({ servers: { sums }, shared: ['sums'] }));
  squad.write('sum.json', JSON.stringify(SCHEMA));
  await squad.run(['trust', '-y', '.squad/mcp-config.json']);
  await squad.unlimited();
  client = await squad.client();
});
afterAll(async () => {
  await squad[Symbol.asyncDispose]();
  await model.close();
});

async function begin(name: string, steps: Step[], more: object = {}): Promise<RunResult> {
  const { isError, ...begun } = await callTool<RunResult>(client, 'spawn_agent', {
    ...{ engine: 'native', model: name, prompt: `Do it ${mock(steps)}`, include_context: false, async: true },
    ...more,
  });
  expect(isError, JSON.stringify(begun)).toBeUndefined();
  return begun as RunResult;
}

const end = (spawn_id: string): Promise<RunResult> =>
  until(
    'it has ended',
    async () => {
      const result = await callTool<RunResult>(client, 'get_result', { spawn_id, wait_seconds: 90 });
      return result.success !== null && result;
    },
    50_000,
  );

const turnFolder = (run: string) => join(squad.home, 'runs', run, 'turn-1');

describe.each(WIRES)('%s', type => {
  test('a run uses a real server of the workspace and answers by the schema', { tags: ['E3'] }, async () => {
    const tag = `sum of ${type}`;
    const steps = [
      { text: 'I add.', call: 'sums__add', arguments: { a: 19, b: 23 }, usage: { input: 50, output: 5 } },
      { call: 'final_answer', arguments: { sum: 42 }, usage: { input: 70, output: 7, cached: 30 } },
    ];
    const { spawn_id } = await begin(`${type}/model-1`, [], {
      prompt: `Do it ${mock(steps, tag)}`,
      structured_output: 'sum.json',
    });
    const result = await end(spawn_id);
    expect(result).toMatchObject({ success: true, structured: { sum: 42 } });
    const run = model.requests.filter(request => request.tag === tag).at(-1)!;
    expect(run.toolResults.at(-1)).toContain('42');
    expect(run.tools).toContain('squad_status');
    const { run: shown } = await squad.json<{ run: Record<string, unknown> }>(['show', spawn_id]);
    expect(shown).toMatchObject({
      engine: 'native',
      status: 'completed',
      usage: { input: 120, output: 12, cached: 30, costUsd: null },
    });
  });
});

test('the request file is deleted after reading, and the key is in no file of the run', async () => {
  const { spawn_id } = await begin('anthropic/model-1', [{ text: 'done' }]);
  expect(await end(spawn_id)).toMatchObject({ success: true });
  const folder = turnFolder(spawn_id);
  expect(readdirSync(folder)).not.toContain('agent-request.json');
  for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name), 'utf8')).not.toContain(KEY);
});

test('a prompt longer than an output line is cut in the conversation; a long answer arrives whole', async () => {
  const bytes = 4 * 1024 * 1024 - 1000;
  const prompt = `${'word '.repeat(2_400_000)}${mock([{ bytes }])}`;
  const { spawn_id } = await begin('anthropic/model-1', [], { prompt });
  expect(await end(spawn_id)).toMatchObject({ success: true });
  expect(statSync(join(squad.home, 'runs', spawn_id, 'answer.txt')).size).toBe(bytes);
  const { stdout } = await until('it is stored', async () => {
    const exported = await squad.run(['conversation', 'export', spawn_id, '--format', 'md']);
    return exported.code === 0 && exported.stdout.length > bytes * 2 && exported;
  });
  expect(stdout).toMatch(/\[\d{7} of 120\d{5} bytes kept\]/);
}, 180_000);

test('a reply continues the chat', async () => {
  const { spawn_id } = await begin('google/model-1', [{ text: 'noted' }]);
  await end(spawn_id);
  const replied = await squad.run([
    'reply',
    spawn_id,
    `And now? ${mock([{ text: 'still noted' }], 'replied')}`,
  ]);
  expect(replied).toMatchObject({ code: 0 });
  expect(model.first('replied')!.turns.map(({ by }) => by)).toEqual(['user', 'model', 'user']);
});

test('an answer that violates the schema fails the run', { tags: ['E4'] }, async () => {
  const steps = [{ call: 'final_answer', arguments: { sum: 'many' } }];
  const { spawn_id } = await begin('openai/model-1', steps, { structured_output: 'sum.json' });
  expect(await end(spawn_id)).toMatchObject({ success: false, error: { code: 'OUTPUT_MISMATCH' } });
});

test("the run's error names the provider that refused", async () => {
  const { spawn_id } = await begin('responses/model-1', [{ status: 429 }]);
  expect(await end(spawn_id)).toMatchObject({
    success: false,
    error: { code: 'ENGINE_RATE_LIMITED', message: expect.stringContaining('answered 429: scripted 429') },
  });
});

test.each(['headers', 'stream'] as const)(
  'a model that hangs (%s) is ended at the deadline',
  { tags: ['E10'] },
  async hang => {
    const task = `Do it ${mock([{ hang }])}`;
    const { runIds } = await squad.json<{ runIds: string[] }>([
      ...[
        'run',
        '-d',
        '--engine',
        'native',
        '--model',
        'anthropic/model-1',
        '--timeout',
        '2s',
        'coder',
        task,
      ],
    ]);
    expect(await end(runIds[0]!)).toMatchObject({ success: false, status: 'timeout' });
  },
);

test('a run cancelled in the middle of a turn leaves no process', async () => {
  const tag = 'cancelled';
  const prompt = `Do it ${mock([{ hang: 'stream' }], tag)}`;
  const { spawn_id } = await begin('anthropic/model-1', [], { prompt });
  await model.waitForRequest(call => call.tag === tag);
  const wrapper = Number.parseInt(readFileSync(join(turnFolder(spawn_id), 'pid'), 'utf8'), 10);
  const agents = readFileSync(`/proc/${wrapper}/task/${wrapper}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number);
  await squad.run(['cancel', spawn_id]);
  expect(await end(spawn_id)).toMatchObject({ status: 'cancelled' });
  // The wrapper writes the exit record and ends a moment later.
  await until('no process is left', () => [wrapper, ...agents].every(pid => !isAlive(pid)));
});

describe('refused before anything starts', () => {
  test.each([
    ['no model', {}, 'MODEL_NOT_SET'],
    ['a provider nobody knows', { model: 'acme/large' }, 'MODEL_NOT_SET'],
    ['a provider without a model', { model: 'anthropic/' }, 'MODEL_NOT_SET'],
  ])('%s', async (_what, more, code) => {
    const refused = await callTool(client, 'spawn_agent', { engine: 'native', prompt: 'Do it', ...more });
    expect(refused).toMatchObject({ isError: true, error: { code } });
  });

  test('no key', async () => {
    const bare = await squad.client({ env: { GEMINI_API_KEY: '' } });
    const refused = await callTool(bare, 'spawn_agent', {
      ...{ engine: 'native', model: 'google/model-1', prompt: 'Do it' },
    });
    expect(refused).toMatchObject({ isError: true, error: { code: 'API_KEY_MISSING' } });
    expect(JSON.stringify(refused)).toContain('GEMINI_API_KEY');
  });
});

test('without any engine, native is suggested but not chosen', { tags: ['E3'] }, async () => {
  await using other = new TestSquad({ ANTHROPIC_API_KEY: KEY });
  const { code, stderr } = await other.run(['run', 'coder', 'Do it']);
  expect(code).toBe(2);
  expect(stderr).toContain('ENGINE_COMMAND=native');
});
