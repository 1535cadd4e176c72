import { afterAll, beforeAll, expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import { RunningAgent } from '../../support/running-agent.ts';
import { BIN, until } from '../../support/squad.ts';
import { nested, Subagents, said } from '../../support/subagents.ts';

let subagents: Subagents;
beforeAll(async () => {
  subagents = await Subagents.start();
  await subagents.squad.unlimited();
  const grandchild = subagents.write('grandchild');
  const child = subagents.write('child', { servers: { below: nested(grandchild) } });
  subagents.write('parent', { servers: { below: nested(child) } });
});
afterAll(() => subagents[Symbol.asyncDispose]());

const asking = (tool: string, prompt: string, last: string) =>
  mock([{ call: tool, arguments: { prompt } }, { text: last }]);

test('a parent uses a child that uses a grandchild: three runs, each below the other', {
  tags: ['E1'],
}, async () => {
  const client = await subagents.client('parent');
  const low = mock([{ text: 'from below' }], 'low');
  const prompt = asking('child', asking('grandchild', low, 'from the middle'), 'from above');
  expect(await said(client, client.call('parent', { prompt }))).toEqual({
    text: 'from above',
    isError: false,
  });
  const runs = await subagents.runs();
  const of = (name: string) => runs.find(({ options }) => options.subagent === name)!;
  expect(of('child')).toMatchObject({ depth: 1, parentId: of('parent').id, status: 'completed' });
  expect(of('grandchild')).toMatchObject({ depth: 2, parentId: of('child').id, status: 'completed' });
  await client.close();
});

test('a subagent that waits for another takes no slot from it: three in a row need one', async () => {
  await subagents.squad.json(['config', 'set', 'limits.concurrency', '1']);
  const client = await subagents.client('parent');
  const prompt = asking('child', asking('grandchild', mock([{ text: 'low' }]), 'middle'), 'high');
  expect(await said(client, client.call('parent', { prompt }))).toMatchObject({ text: 'high' });
  await client.close();
  await subagents.squad.json(['config', 'set', 'limits.concurrency', '8']);
});

test('a subagent that calls itself is stopped at the limit of depth, and the chain is named', {
  tags: ['E10'],
}, async () => {
  const self = subagents.write('mirror');
  subagents.write('mirror', { servers: { again: nested(self) } });
  await subagents.squad.json(['config', 'set', 'limits.depth', '2']);
  const deep = [0, 1, 2].reduce(inner => asking('mirror', inner, 'back'), mock([{ text: 'the bottom' }]));
  const client = await subagents.client('mirror');
  await said(client, client.call('mirror', { prompt: deep }));
  const refused = await subagents.model.waitForRequest(({ toolResults }) =>
    JSON.stringify(toolResults).includes('DEPTH_LIMIT'),
  );
  expect(JSON.stringify(refused.toolResults)).toContain('mirror → mirror → mirror → mirror');
  expect(
    (await subagents.runs())
      .filter(({ options }) => options.subagent === 'mirror')
      .map(({ depth }) => depth)
      .sort(),
  ).toEqual([0, 1, 2]);
  await client.close();
});

test('a stop also stops the subagents that were called', async () => {
  const client = await subagents.client('parent');
  const hanging = mock([{ hang: 'stream' }], 'hangs-below');
  const id = client.call('parent', { prompt: asking('child', asking('grandchild', hanging, 'x'), 'y') });
  await subagents.model.waitForRequest(({ tag }) => tag === 'hangs-below');
  client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  await until('all three are over', async () => {
    const runs = (await subagents.runs()).filter(({ task }) => task.includes('hangs-below'));
    return runs.length === 3 && runs.every(({ status }) => status === 'cancelled');
  });
  await client.close();
});

test.each([
  ['that may start no runs', 'You write code.'],
  ['that may start runs', '---\nspawn: true\n---\nYou lead.'],
])('inside a run %s no file starts a subagent', async (_, role) => {
  subagents.squad.write('agents/coder.md', role);
  await using agent = await RunningAgent.start(subagents.squad, 'coder');
  const { code, stdout, stderr } = await subagents.squad.run(['mcp', ...subagents.args('grandchild')], {
    env: { SQUAD_RUN_ID: agent.id },
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('NOT_ALLOWED');
  expect(stderr).toContain(agent.id);
});

test('a server of a subagent has no more of Squad than the subagent: nothing', async () => {
  subagents.write('curious', { servers: { hub: { command: process.execPath, args: [BIN, 'mcp'] } } });
  const client = await subagents.client('curious');
  await said(client, client.call('curious', { prompt: mock([{ text: 'ok' }], 'curious') }));
  expect(subagents.model.first('curious')?.tools).toEqual([]);
  await client.close();
});
