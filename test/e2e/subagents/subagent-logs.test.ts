import { afterAll, beforeAll, expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import { ENVELOPE, type Message, RawMcp } from '../../support/raw-mcp.ts';
import { until } from '../../support/squad.ts';
import { errorOf, ownServer, Subagents, said } from '../../support/subagents.ts';

let subagents: Subagents;
beforeAll(async () => {
  subagents = await Subagents.start();
  await subagents.squad.unlimited();
  subagents.write('teller', { servers: { echo: ownServer('echo') } });
});
afterAll(() => subagents[Symbol.asyncDispose]());

interface Log {
  level: string;
  logger: string;
  data: { event: string; [field: string]: unknown };
}
const logs = (client: RawMcp) =>
  client.notices('notifications/message').map(({ params }) => params as unknown as Log);
const CALLS = [{ text: 'Let me see.', call: 'echo', arguments: { nonce: 'n1' } }, { text: 'done' }];
const prompt = mock(CALLS);

test('events of a call are logged as they happen, each with its level', { tags: ['E9'] }, async () => {
  const client = await subagents.client('teller');
  await client.ask('logging/setLevel', { level: 'debug' });
  await said(client, client.call('teller', { prompt }));
  const told = logs(client);
  expect(new Set(told.map(({ logger }) => logger))).toEqual(new Set(['subagent.teller']));
  const runId = told[0]!.data.runId;
  expect(runId).toMatch(/^run_/);
  const [call, result] = ['tool_call', 'tool_result'].map(event =>
    told.find(({ data }) => data.event === event),
  );
  expect(call).toMatchObject({
    level: 'info',
    data: { runId, name: expect.stringContaining('echo'), input: { nonce: 'n1' } },
  });
  expect(result).toMatchObject({ level: 'info', data: { runId, id: call!.data.id, isError: false } });
  expect(JSON.stringify(result!.data.output)).toContain('n1');
  const responses = told
    .filter(({ data }) => data.event === 'response')
    .map(({ level, data }) => [level, data.text]);
  expect(responses).toEqual([
    ['info', 'Let me see.'],
    ['info', 'done'],
  ]);
  const saved = told.filter(({ data }) => data.event === 'message_saved');
  expect(saved.map(({ data }) => data.role)).toEqual(expect.arrayContaining(['user', 'assistant', 'tool']));
  expect(saved[0]!.data).toMatchObject({ messageId: expect.stringMatching(/^msg_/), parentId: null });
  const ids = new Set(saved.map(({ data }) => data.messageId));
  expect(saved.slice(1).every(({ data }) => ids.has(data.parentId))).toBe(true);
  // All before the answer: that is the end of it.
  const last = client.messages.findLastIndex(({ method }) => method === 'notifications/message');
  expect(client.messages.findIndex(({ result: answer }) => answer?.content !== undefined)).toBeGreaterThan(
    last,
  );
  await client.close();
});

test('only from the level on that the client asked for', { tags: ['E9'] }, async () => {
  const client = await subagents.client('teller');
  await client.ask('logging/setLevel', { level: 'error' });
  await said(client, client.call('teller', { prompt }));
  expect(logs(client)).toEqual([]);
  const { code } = await errorOf(client, client.call('teller', { prompt: mock([{ status: 500 }]) }));
  expect(logs(client)).toMatchObject([{ level: 'error', data: { event: 'response', error: { code } } }]);
  await client.close();
});

test('of the current revision, only within a request that asks for it', { tags: ['E9'] }, async () => {
  const client = new RawMcp(subagents.squad, { args: subagents.args('teller') });
  const ask = async (level?: string): Promise<Message> => {
    const meta = { ...ENVELOPE, ...(level && { 'io.modelcontextprotocol/logLevel': level }) };
    return client.answer(client.call('teller', { prompt }, meta));
  };
  expect((await ask()).result).toMatchObject({ content: [{ text: 'done' }] });
  expect(logs(client)).toEqual([]);
  expect((await ask('info')).result).toMatchObject({ content: [{ text: 'done' }] });
  expect(logs(client).map(({ data }) => data.event)).toEqual(
    expect.arrayContaining(['tool_call', 'tool_result', 'response', 'message_saved']),
  );
  await client.close();
});

test('a client that never reads holds up nothing', { tags: ['E9'], timeout: 180_000 }, async () => {
  const client = await subagents.client('teller');
  await client.ask('logging/setLevel', { level: 'debug' });
  client.child.stdout!.pause();
  const steps = Array.from({ length: 40 }, (_, i) => ({
    call: 'echo',
    arguments: { nonce: `${i}`, bytes: 100_000 },
  }));
  const calls = Array.from({ length: 4 }, (_, i) =>
    client.call('teller', { prompt: mock([...steps, { text: 'done' }], `deaf-${i}`) }),
  );
  await until(
    'every run is done',
    async () => {
      const runs = (await subagents.runs()).filter(({ task }) => task.includes('deaf-'));
      return runs.length === calls.length && runs.every(({ status }) => status === 'completed');
    },
    100_000,
  );
  client.child.stdout!.resume();
  for (const id of calls) expect(await said(client, id)).toMatchObject({ text: 'done' });
  await client.close();
});
