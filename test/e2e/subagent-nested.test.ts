import { afterAll, beforeAll, expect, test } from 'vitest';
import { mock } from '../engines/model-server/script.ts';
import { until } from '../support/squad.ts';
import { nested, said, Subagents } from '../support/subagents.ts';

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

test('a parent uses a child that uses a grandchild: three runs, each below the other', async () => {
  const client = await subagents.client('parent');
  const low = mock([{ text: 'from below' }], 'low');
  const prompt = asking('child', asking('grandchild', low, 'from the middle'), 'from above');
  expect(await said(client, client.call('parent', { prompt }))).toEqual({ text: 'from above', isError: false });
  const runs = await subagents.runs();
  const of = (name: string) => runs.find(({ title }) => title.startsWith(`${name}: `))!;
  expect(of('child')).toMatchObject({ depth: 1, parentId: of('parent').id, status: 'completed' });
  expect(of('grandchild')).toMatchObject({ depth: 2, parentId: of('child').id, status: 'completed' });
  await client.close();
});

test('one that calls itself is stopped at the limit of depth, and the chain is named', async () => {
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
  expect((await subagents.runs()).filter(({ title }) => title.startsWith('mirror')).map(({ depth }) => depth).sort()).toEqual([0, 1, 2]);
  await client.close();
});

test('what is stopped takes those with it that it called', async () => {
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

test('inside a run that may start no runs, a subagent cannot be called', async () => {
  subagents.squad.write('env.mark', '');
  const [run] = await subagents.runs();
  // A run that is no subagent's, and is at work.
  const other = subagents.squad.start(['run', '--engine', 'scripted', '--json', 'x'], {});
  other.kill();
  expect(run).toBeDefined();
});
