import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChild } from '../../../src/store/fixtures/child.ts';
import { mock } from '../../engines/model-server/script.ts';
import { until } from '../../support/squad.ts';
import { ownServer, Subagents, said } from '../../support/subagents.ts';

const HOLDER = new URL('../../../src/store/fixtures/hold-database.ts', import.meta.url);
const CALLS = 30;

let subagents: Subagents;
beforeAll(async () => {
  subagents = await Subagents.start();
  await subagents.squad.unlimited();
  subagents.write('worker', { servers: { echo: ownServer('echo') } });
});
afterAll(() => subagents[Symbol.asyncDispose]());

test('a database that somebody else holds for seconds holds up neither an agent nor its tools nor its answer, and has all messages afterwards', {
  tags: ['E8'],
}, async () => {
  const { squad, model } = subagents;
  const client = await subagents.client('worker');
  const echoes = Array.from({ length: CALLS }, (_, i) => ({ call: 'echo', arguments: { nonce: `n${i}` } }));
  const id = client.call('worker', { prompt: mock([...echoes, { text: 'done' }], 'blocked') });
  await model.waitForRequest(({ tag, step }) => tag === 'blocked' && step === 3);
  const holder = startChild(HOLDER, join(squad.home, 'squad.db'));
  expect(await holder.line()).toBe('held');
  const since = model.requests.length;
  // Were it held up, this would never come: nothing lets go of the database before it has.
  const last = await model.waitForRequest(({ tag, step }) => tag === 'blocked' && step === CALLS);
  expect(last.toolResults.at(-1)).toContain(`n${CALLS - 1}`);
  expect(model.requests.length - since).toBeGreaterThan(5);
  expect(await said(client, id)).toEqual({ text: 'done', isError: false });
  const { runs } = await squad.json<{ runs: { status: string }[] }>(['ls']);
  expect(runs).toMatchObject([{ status: 'running' }]);
  holder.say('release');
  await client.close();
  const { conversations } = await squad.json<{ conversations: { run: string }[] }>(['conversation', 'list']);
  const messages = await until('every message is stored', async () => {
    const talk = await squad.json<{ messages: { role: string; parentId: string; id: string }[] }>([
      ...['conversation', 'print', conversations[0]!.run],
    ]);
    return talk.messages.length === 2 * CALLS + 2 && talk.messages;
  });
  expect(messages.slice(1).map(({ parentId }) => parentId)).toEqual(
    messages.slice(0, -1).map(({ id }) => id),
  );
});

test('an agent that asks Squad is not held up either', async () => {
  const { squad, model } = subagents;
  const env = { ANTHROPIC_API_KEY: 'fake', ANTHROPIC_BASE_URL: model.url };
  const asks = Array.from({ length: 30 }, () => ({ call: 'squad_status' }));
  const task = mock([...asks, { text: 'done' }], 'asks');
  const engine = ['--engine', 'native', '--model', 'anthropic/claude-test'];
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...engine, 'coder', task], { env });
  await model.waitForRequest(({ tag, step }) => tag === 'asks' && step === 2);
  const holder = startChild(HOLDER, join(squad.home, 'squad.db'));
  expect(await holder.line()).toBe('held');
  const last = await model.waitForRequest(({ tag, step }) => tag === 'asks' && step === asks.length);
  expect(last.toolResults).toHaveLength(asks.length);
  holder.say('release');
  expect((await squad.run(['wait', runIds[0]!])).code).toBe(0);
});
