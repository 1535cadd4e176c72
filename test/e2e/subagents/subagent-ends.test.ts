import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import type { RawMcp } from '../../support/raw-mcp.ts';
import { isAlive, until } from '../../support/squad.ts';
import { allGone, errorOf, nested, ownServer, Subagents, said } from '../../support/subagents.ts';

let subagents: Subagents;
let file: string;
beforeEach(async () => {
  subagents = await Subagents.start();
  file = join(subagents.squad.root, 'pids');
  subagents.write('worker', { servers: { busy: ownServer('busy', file) } });
});
afterEach(() => subagents[Symbol.asyncDispose]());

const wrapperOf = (id: string): number =>
  Number(/\d+/.exec(readFileSync(join(subagents.squad.home, 'runs', id, 'turn-1', 'pid'), 'utf8'))![0]);

/** A call in the middle of a turn: its server is there, and a shell and a child that the server started. */
async function startRunning(): Promise<{ client: RawMcp; id: number; pids: number[] }> {
  const client = await subagents.client('worker');
  const id = client.call('worker', { prompt: mock([{ call: 'work' }, { text: 'done' }]) });
  const pids = await until('server, shell and child are there', () => {
    const seen = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : [];
    return seen.length === 3 && seen;
  });
  const [run] = await subagents.runs();
  return { client, id, pids: [...pids, wrapperOf(run!.id)] };
}

test.each<{ how: string; end(client: RawMcp): void }>([
  { how: 'SIGINT', end: ({ child }) => child.kill('SIGINT') },
  { how: 'SIGTERM', end: ({ child }) => child.kill('SIGTERM') },
  { how: 'SIGHUP', end: ({ child }) => child.kill('SIGHUP') },
  { how: 'the end of its input', end: ({ child }) => child.stdin!.end() },
])(
  '$how in the middle of a turn: when the server is gone, nothing of the subagent is left',
  { tags: ['E7'] },
  async ({ end }) => {
    const { client, pids } = await startRunning();
    expect(pids.filter(isAlive)).toEqual(pids);
    end(client);
    const { code, stderr } = await client.ended;
    expect({ code, stderr, left: pids.filter(isAlive) }).toEqual({ code: 0, stderr: '', left: [] });
    expect((await subagents.runs()).map(({ status }) => status)).toEqual(['cancelled']);
  },
);

test('a client that vanishes takes its runs with it', { tags: ['E7'] }, async () => {
  const { client, pids } = await startRunning();
  client.child.kill('SIGKILL');
  await client.ended;
  await allGone(pids);
  await until('the run is over', async () => (await subagents.runs())[0]?.status === 'cancelled');
});

test('a call that is taken back leaves nothing, and its server is there for the next', async () => {
  const { client, id, pids } = await startRunning();
  client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  await allGone(pids);
  expect(await said(client, client.call('worker', { prompt: mock([{ text: 'next' }]) }))).toMatchObject({
    text: 'next',
  });
  await client.close();
});

test('servers end with their run, when the answer is out', async () => {
  const client = await subagents.client('worker');
  await said(client, client.call('worker', { prompt: mock([{ text: 'done' }]) }));
  await allGone(readFileSync(file, 'utf8').trim().split('\n').map(Number));
  await client.close();
});

test('a hub that is killed: the call gets an error, what it had started is stopped, and the next call works', {
  tags: ['E7'],
}, async () => {
  const { client, id, pids } = await startRunning();
  const other = client.call('worker', { prompt: mock([{ hang: 'stream' }], 'hangs') });
  await subagents.model.waitForRequest(({ tag }) => tag === 'hangs');
  process.kill(await subagents.squad.hubPid(), 'SIGKILL');
  for (const asked of [id, other])
    expect((await client.answer(asked)).error).toMatchObject({
      data: { code: 'HUB_RESTARTED', suggestions: [expect.stringContaining('Call it again')] },
    });
  await allGone(pids);
  // Nobody is left to hear what it would have said.
  await until('the run is over', async () =>
    (await subagents.runs()).some(({ task, status }) => task.includes('hangs') && status === 'cancelled'),
  );
  expect(await said(client, client.call('worker', { prompt: mock([{ text: 'again' }]) }))).toMatchObject({
    text: 'again',
  });
  await client.close();
});

test('a hub that is killed in a call of one subagent by another: the record says how both ended', {
  tags: ['E10'],
}, async () => {
  const below = subagents.write('below');
  subagents.write('above', { servers: { below: nested(below) } });
  const client = await subagents.client('above');
  const prompt = mock([{ hang: 'stream' }], 'hangs-below');
  const id = client.call('above', {
    prompt: mock([{ call: 'below', arguments: { prompt } }, { text: 'never' }], 'lost-above'),
  });
  await subagents.model.waitForRequest(({ tag }) => tag === 'hangs-below');
  process.kill(await subagents.squad.hubPid(), 'SIGKILL');
  expect((await client.answer(id)).error).toMatchObject({ data: { code: 'HUB_RESTARTED' } });
  const [outer, inner] = await until('both are over', async () => {
    const runs = (await subagents.runs()).toSorted((one, other) => one.depth - other.depth);
    return runs.length === 2 && runs.every(({ status }) => !['queued', 'running'].includes(status)) && runs;
  });
  // The outer one's agent ends by itself when it loses its tools; the next hub may be there before that.
  expect(['error', 'cancelled']).toContain(outer!.status);
  expect(inner!.status).toBe('cancelled');
  expect(subagents.model.requests.filter(({ tag }) => tag === 'lost-above')).toHaveLength(1);
  const { stdout } = await subagents.squad.run(['show', outer!.id]);
  expect(stdout).toMatch(
    outer!.status === 'error'
      ? /HUB_RESTARTED[\s\S]*The agent lost its tools/
      : /stopped by Squad \(cancel\)/,
  );
  await client.close();
});

test('a hub that is killed just before its client ends: the next one comes to stop what was begun', async () => {
  const client = await subagents.client('worker');
  client.call('worker', { prompt: mock([{ hang: 'stream' }], 'hangs') });
  await subagents.model.waitForRequest(({ tag }) => tag === 'hangs');
  const [run] = await subagents.runs();
  const wrapper = wrapperOf(run!.id);
  process.kill(await subagents.squad.hubPid(), 'SIGKILL');
  client.child.kill('SIGTERM');
  expect((await client.ended).code).toBe(0);
  expect(isAlive(wrapper)).toBe(false);
});

test('a hub that is stopped answers first, and leaves nothing', { tags: ['E7'] }, async () => {
  const { client, id, pids } = await startRunning();
  await subagents.squad.run(['hub', 'stop']);
  expect(await errorOf(client, id)).toMatchObject({
    code: 'CANCELLED',
    message: 'worker was stopped before it was done: the hub was stopped',
  });
  await allGone(pids);
  await client.close();
});

test('a file that became invalid while its server was running is reported to the client when the next hub reads it', async () => {
  const client = await subagents.client('worker');
  expect(await said(client, client.call('worker', { prompt: mock([{ text: 'fine' }]) }))).toMatchObject({
    text: 'fine',
  });
  subagents.write('worker', { more: { defaults: { model: 'other' } } });
  await subagents.squad.run(['hub', 'stop']);
  const { error } = await client.ask('tools/list');
  expect(error?.message).toMatch(/worker\.yaml.*other/s);
  subagents.write('worker');
  expect((await client.ask('tools/list')).result).toMatchObject({ tools: [{ name: 'worker' }] });
  await client.close();
});
