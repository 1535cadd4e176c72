import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ShownItem } from '../../../src/operations/inbox/inbox.ts';
import { askingBlock } from '../../servers/start.ts';
import { RunningAgent } from '../../support/running-agent.ts';
import { TestSquad, until } from '../../support/squad.ts';

/** Other MCP servers that want something of a person, in the middle of an agent's call. */
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });

beforeAll(async () => {
  await squad.unlimited();
  squad.write(
    '.squad/mcp-config.json',
    JSON.stringify({
      servers: {
        // Its time limit is shorter than a person takes to answer.
        desk: askingBlock({ instance: 'per-agent', timeout: 5_000 }),
      },
      agentServers: { coder: ['desk'] },
    }),
  );
  await squad.run(['trust', '-y', '.squad/mcp-config.json']);
});
afterAll(() => squad[Symbol.asyncDispose]());

const inbox = async (...more: string[]) =>
  (await squad.json<{ items: ShownItem[] }>(['inbox', ...more])).items;
const asked = (runId: string) =>
  until('the server’s question is there', async () => (await inbox()).find(item => item.runId === runId));
const call = async (client: Client, name: string, signal?: AbortSignal) => {
  await until('its tools are there', async () =>
    (await client.listTools()).tools.some(tool => tool.name === name),
  );
  const { content } = await client.callTool({ name, arguments: {} }, { timeout: 60_000, signal });
  return JSON.parse((content as { text: string }[])[0]!.text);
};

test.each([true, false])(
  'a form is filled in by the user, and the server has it typed (modern agent: %s)',
  async modern => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const answer = call(await agent.overHttp(modern), 'desk__register');
    const item = await asked(agent.id);
    expect(item).toMatchObject({
      kind: 'question',
      source: 'desk',
      question: 'Who is it for?',
      fields: [
        { name: 'name', title: 'Name', type: 'text', isRequired: true },
        { name: 'size', type: 'choice', choices: ['S', 'M'], isRequired: false },
        { name: 'copies', type: 'number', isRequired: false },
      ],
    });
    const wrong = await squad.run(['answer', item.id, '{"size": "XL", "name": "Ada"}']);
    expect(wrong.stderr).toContain('ANSWER_INVALID');
    // Longer than its time limit: while it waits for a person, that does not count.
    await until('the limit of the call is over', () => Date.now() > item.createdAt + 6_000);
    await squad.run(['answer', item.id, '{"size": "M", "name": "Ada", "copies": "2"}']);
    expect(await answer).toEqual({ action: 'accept', content: { name: 'Ada', size: 'M', copies: 2 } });
  },
);

test('a question without fields is a yes or no', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const client = await agent.overHttp(true);
  for (const [said, told] of [
    ['yes', { action: 'accept', content: {} }],
    ['no', { action: 'decline' }],
  ] as const) {
    const answer = call(client, 'desk__publish');
    const item = await asked(agent.id);
    expect(item).toMatchObject({ kind: 'approval', choices: ['yes', 'no'] });
    await squad.run(['answer', item.id, said]);
    expect(await answer).toEqual(told);
  }
});

test('a request for a password reaches nobody', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  expect(await call(await agent.overHttp(true), 'desk__unlock')).toEqual({ action: 'decline' });
  expect((await inbox('--all')).filter(({ runId }) => runId === agent.id)).toEqual([]);
});

test('an unanswered request is cancelled, not declined', async () => {
  await squad.json(['config', 'set', 'inbox.timeout_minutes', '0.01']);
  try {
    await using agent = await RunningAgent.start(squad, 'coder');
    expect(await call(await agent.overHttp(true), 'desk__publish')).toEqual({ action: 'cancel' });
  } finally {
    await squad.json(['config', 'unset', 'inbox.timeout_minutes']);
  }
});

test('a call that is taken back takes its question along', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const giveUp = new AbortController();
  const answer = call(await agent.overHttp(true), 'desk__register', giveUp.signal).catch(() => 'given up');
  const { id } = await asked(agent.id);
  giveUp.abort();
  expect(await answer).toBe('given up');
  await until('it is withdrawn', async () =>
    (await inbox('--all')).some(item => item.id === id && item.withdrawnBecause === 'call_ended'),
  );
});

test('a server that goes away takes its question along, and that is said', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const answer = call(await agent.overHttp(true), 'desk__leave').catch(() => 'gone');
  process.kill(Number((await asked(agent.id)).question), 'SIGKILL');
  await answer;
  const withdrawn = await until('it is withdrawn', async () =>
    (await inbox('--all')).find(item => item.runId === agent.id && item.state === 'withdrawn'),
  );
  expect(withdrawn).toMatchObject({ withdrawnBecause: 'server_gone' });
  expect((await squad.run(['inbox', '--all'])).stdout).toContain('the server that asked went away');
});

test('an agent whose own client can be asked is asked itself', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const client = await squad.client({
    args: ['--identity', agent.file],
    capabilities: { elicitation: {} },
  });
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept' as const,
    content: { name: 'by its client' },
  }));
  expect(await call(client, 'desk__register')).toEqual({
    action: 'accept',
    content: { name: 'by its client' },
  });
  expect((await inbox('--all')).filter(({ runId }) => runId === agent.id)).toEqual([]);
});
