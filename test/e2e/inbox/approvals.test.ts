import { afterAll, beforeAll, expect, test } from 'vitest';
import type { InboxItem } from '../../../src/schema/inbox.ts';
import type { RunOptions } from '../../../src/schema/run.ts';
import { GitSquad } from '../../support/git-squad.ts';
import { RunningAgent } from '../../support/running-agent.ts';
import { TestSquad, until } from '../../support/squad.ts';

const ASKS = '---\napprovals: ask\n---\nYou ask first.\n';

const squad = new GitSquad({ careful: ASKS, plain: 'You work.\n' });
beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

const inbox = async (...more: string[]) =>
  (await squad.json<{ items: InboxItem[] }>(['inbox', ...more])).items;
const answer = async (item: InboxItem, said: string) =>
  expect(await squad.run(['answer', item.id, said])).toMatchObject({ code: 0 });
const asksOf = (runId: string) =>
  until('it asks', async () => (await inbox()).find(item => item.runId === runId));

const USE = { tool_name: 'Bash', input: { command: 'rm -r build', timeout: 5 }, tool_use_id: 'toolu_1' };

test.each([
  ['modern', true],
  ['legacy', false],
])('an engine hears yes and no as one text and nothing beside it (%s)', async (_, isModern) => {
  await using agent = await RunningAgent.start(squad, 'careful');
  const client = await agent.overHttp(isModern);
  const tool = (await client.listTools()).tools.find(({ name }) => name === 'ask_permission');
  expect(tool).toMatchObject({ name: 'ask_permission' });
  expect(tool?.outputSchema).toBeUndefined();
  for (const [said, heard] of [
    ['yes', { behavior: 'allow', updatedInput: USE.input }],
    ['no', { behavior: 'deny', message: expect.stringContaining('the user (terminal) said no') }],
  ] as const) {
    const call = client.callTool({ name: 'ask_permission', arguments: USE });
    const item = await asksOf(agent.id);
    expect(item).toMatchObject({
      ...{ kind: 'permission', source: 'Bash', question: 'scripted wants to run: Bash', default: 'no' },
      details: 'rm -r build\n\nWith: {"timeout":5}',
    });
    await answer(item, said);
    const { content, ...beside } = await call;
    expect(beside.structuredContent).toBeUndefined();
    expect(beside.isError).toBeUndefined();
    expect(content).toEqual([{ type: 'text', text: expect.any(String) }]);
    const [only] = content as { text: string }[];
    expect(JSON.parse(only!.text)).toEqual(heard);
  }
});

test('an engine whose call breaks off asks again and has the answer that came meanwhile', async () => {
  await using agent = await RunningAgent.start(squad, 'careful');
  const gone = new AbortController();
  const first = (await agent.overHttp(true)).callTool(
    { name: 'ask_permission', arguments: USE },
    { signal: gone.signal },
  );
  const item = await asksOf(agent.id);
  gone.abort();
  await expect(first).rejects.toThrow();
  await answer(item, 'yes');
  const again = await (await agent.overHttp(true)).callTool({ name: 'ask_permission', arguments: USE });
  expect(JSON.stringify(again.content)).toContain('allow');
});

test('with nobody to answer it is refused at once', { tags: ['F4'] }, async () => {
  await squad.run(['config', 'set', 'inbox.timeout_minutes', '0']);
  try {
    await using agent = await RunningAgent.start(squad, 'careful');
    const { content } = await (await agent.overHttp(true)).callTool({
      name: 'ask_permission',
      arguments: USE,
    });
    expect(JSON.stringify(content)).toMatch(/deny.*nobody answered in time/);
  } finally {
    await squad.run(['config', 'unset', 'inbox.timeout_minutes']);
  }
});

test('an agent whose role does not say so has no such tool, and cannot call it', async () => {
  await using agent = await RunningAgent.start(squad, 'plain');
  const client = await agent.overHttp(true);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('ask_permission');
  await expect(client.callTool({ name: 'ask_permission', arguments: USE })).rejects.toThrow('ask_permission');
  expect((await inbox('--all')).filter(item => item.runId === agent.id)).toEqual([]);
});

test('in a role that came with the repository it has no effect until that is trusted, which is said', async () => {
  await using strange = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  strange.write('agents/careful.md', ASKS);
  const started = async () => {
    const { stdout, stderr } = await strange.run(['run', '-d', 'careful', 'Work.', '--json']);
    const { runIds } = JSON.parse(stdout) as { runIds: string[] };
    const { run } = await strange.json<{ run: { options: RunOptions } }>(['show', runIds[0]!]);
    return { approvals: run.options.approvals, stderr };
  };
  expect(await started()).toEqual({
    approvals: 'deny',
    stderr: expect.stringMatching(/Not used until you run `squad trust`: approvals in .*careful\.md/),
  });
  expect(await strange.run(['trust', '-y'])).toMatchObject({ code: 0 });
  expect(await started()).toEqual({ approvals: 'ask', stderr: '' });
});
