import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ShownItem } from '../../../src/operations/inbox/inbox.ts';
import { callTool, TestSquad, until } from '../../support/squad.ts';

/** Agents' questions, put to the person at an MCP client that can show a form. */
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const TASKS = 'io.modelcontextprotocol/tasks';

beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

const script = (...lines: string[]) => `Work.\n\`\`\`script\n${lines.join('\n')}\n\`\`\``;
const inbox = async (...more: string[]) =>
  (await squad.json<{ items: ShownItem[] }>(['inbox', ...more])).items;
const runs = async () => (await squad.json<{ runs: { id: string }[] }>(['ls'])).runs;

type Shown = { message: string; requestedSchema: { properties: Record<string, { enum?: string[] }> } };
type Response = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> };

/** A client whose person answers by `say`, or not at all for as long as that takes. */
async function attended(
  modern: boolean,
  say: (shown: Shown) => Response | Promise<Response>,
): Promise<Client> {
  const client = await squad.client({ modern, name: 'attended', capabilities: { elicitation: {} } });
  client.setRequestHandler('elicitation/create', async request => say(request.params as unknown as Shown));
  return client;
}

interface Result {
  status: string;
  result: string | null;
  asks?: { item: string }[];
}
const spawn = (client: Client, ...lines: string[]) =>
  callTool<Result>(client, 'spawn_agent', { prompt: script(...lines), include_context: false });

describe.each([true, false])('a client that shows forms (modern: %s)', modern => {
  test('shows what the agents ask, each once, and its call goes on to the end', {
    tags: ['F4'],
  }, async () => {
    const seen: Shown[] = [];
    const client = await attended(modern, shown => {
      seen.push(shown);
      const [choice] = shown.requestedSchema.properties.answer?.enum ?? ['Ada'];
      return { action: 'accept', content: { answer: choice! } };
    });
    const before = (await runs()).length;
    const ended = await spawn(client, 'ask "Which database?" sqlite postgres', 'ask Whose name?', 'say done');
    expect(ended).toMatchObject({ status: 'completed' });
    expect(ended.result).toBe('The answer is: sqlite\nThe answer is: Ada\ndone');
    expect(seen.map(({ message }) => message)).toEqual([
      'scripted asks: Which database?\n\nIts task: Work.',
      'scripted asks: Whose name?\n\nIts task: Work.',
    ]);
    expect((await runs()).length).toBe(before + 1);
    const [last] = await inbox('--all');
    expect(last).toMatchObject({ state: 'answered', answeredBy: { who: 'user', via: 'attended 1' } });
  });

  test('whose user declines reports so to the agent at once, and its call continues to the end', {
    tags: ['F4'],
  }, async () => {
    const client = await attended(modern, () => ({ action: 'decline' }));
    const ended = await spawn(client, 'ask Well?', 'ask "Which?" a b', 'say done');
    expect(ended).toMatchObject({ status: 'completed' });
    expect(ended.result).toBe('The answer is: (declined)\nThe answer is: (declined)\ndone');
    const [last] = await inbox('--all');
    expect(last).toMatchObject({ state: 'declined', answeredBy: { who: 'user', via: 'attended 1' } });
    expect((await squad.run(['inbox', '--all'])).stdout).toContain('declined by the user (attended 1)');
  });

  test('whose user closes the form has the question in its result, and is not asked again', async () => {
    let shown = 0;
    const client = await attended(modern, () => {
      shown++;
      return { action: 'cancel' };
    });
    const waiting = await spawn(client, 'ask Well?');
    expect(waiting).toMatchObject({ status: 'running', asks: [{ question: 'Well?' }] });
    const { item, spawn_id } = waiting.asks![0] as { item: string; spawn_id: string };
    const ended = callTool<Result>(client, 'get_result', { spawn_id, wait_seconds: 90 });
    await squad.run(['answer', item, 'well']);
    expect(await ended).toMatchObject({ status: 'completed', result: 'The answer is: well' });
    expect(shown).toBe(1);
  });

  test('is asked by get_result as well', async () => {
    const client = await attended(modern, () => ({ action: 'accept', content: { answer: 'now' } }));
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', script('ask When?')]);
    const ended = await callTool<Result>(client, 'get_result', { spawn_id: runIds[0], wait_seconds: 90 });
    expect(ended).toMatchObject({ status: 'completed', result: 'The answer is: now' });
  });

  test('that answers after somebody else still gets the result', async () => {
    let isShown = () => {};
    const shown = new Promise<void>(settle => {
      isShown = settle;
    });
    let answer: (response: Response) => void = () => {};
    const client = await attended(modern, () => {
      isShown();
      return new Promise<Response>(settle => {
        answer = settle;
      });
    });
    const ended = spawn(client, 'ask "First?" me you');
    await shown;
    const [item] = await inbox();
    await squad.run(['answer', item!.id, 'me']);
    await until('it is settled', async () => (await inbox()).length === 0);
    answer({ action: 'accept', content: { answer: 'you' } });
    expect(await ended).toMatchObject({ status: 'completed', result: 'The answer is: me' });
  });
});

test.each([
  ['answers', { action: 'accept', content: { answer: 'n' } }, 'The answer is: n'],
  ['declines', { action: 'decline' }, 'The answer is: (declined)'],
])('a client with tasks and forms is asked by the task, and %s', async (_, response, told) => {
  const client = await squad.client({
    modern: true,
    name: 'tasked',
    capabilities: { elicitation: {}, extensions: { [TASKS]: {} } },
  });
  const anything = z.looseObject({});
  const ask = (method: string, params: Record<string, unknown>) =>
    client.request({ method, params }, anything);
  const { runIds } = await squad.json<{ runIds: string[] }>([
    'run',
    '-d',
    'coder',
    script('ask "May I?" y n'),
  ]);
  const taskId = runIds[0]!;
  const waiting = await until('the task asks', async () => {
    const task = await ask('tasks/get', { taskId });
    return task.status === 'input_required' && task;
  });
  const [[id, request]] = Object.entries(waiting.inputRequests as Record<string, { method: string }>) as [
    [string, { method: string }],
  ];
  expect(request).toMatchObject({ method: 'elicitation/create' });
  expect(waiting.statusMessage).toBe('coder asks: May I?');
  await ask('tasks/update', { taskId, inputResponses: { [id]: response } });
  const over = await until('the task is over', async () => {
    const task = await ask('tasks/get', { taskId });
    return task.status === 'completed' && task;
  });
  expect(JSON.stringify(over)).toContain(told);
  expect((await inbox('--all'))[0]).toMatchObject({ answeredBy: { who: 'user', via: 'tasked 1' } });
});

test('a second round that does not say of which call starts nothing', async () => {
  const client = await attended(true, () => ({ action: 'decline' }));
  const before = (await runs()).length;
  const answer = await client.request(
    {
      method: 'tools/call',
      params: {
        name: 'spawn_agent',
        arguments: { prompt: script('say hi'), include_context: false },
        inputResponses: { ask_0123456789: { action: 'accept', content: { answer: 'x' } } },
      },
    },
    z.looseObject({ isError: z.boolean().optional() }),
  );
  expect(answer.isError).toBe(true);
  expect(JSON.stringify(answer)).toContain('INVALID_INPUT');
  expect((await runs()).length).toBe(before);
});
