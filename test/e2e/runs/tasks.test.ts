import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { HANDSHAKE, RawMcp } from '../../support/raw-mcp.ts';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const anything = z.looseObject({});
const script = (lines: string) => `Do it.\n\`\`\`script\n${lines}\n\`\`\``;
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });

beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

interface Task {
  resultType?: string;
  taskId: string;
  status: string;
  statusMessage?: string;
  ttlMs: number;
  pollIntervalMs: number;
  result?: { structuredContent: Record<string, unknown> };
}

const open = () => squad.client({ modern: true, capabilities: { extensions: { [TASKS]: {} } } });
const ask = async (client: Client, method: string, params: object) =>
  (await client.request({ method, params: params as Record<string, unknown> }, anything)) as unknown as Task;

/** The answer as it came: the SDK's client has no words for a task. */
async function call(
  client: Client,
  name: string,
  args: object,
): Promise<Task & { structuredContent?: object }> {
  const transport = client.transport!;
  const hear = transport.onmessage!;
  let answer: Record<string, unknown> | null = null;
  transport.onmessage = (message, extra) => {
    if ('result' in message && answer === null) answer = message.result as Record<string, unknown>;
    hear.call(transport, message, extra);
  };
  await ask(client, 'tools/call', { name, arguments: args }).catch(() => {});
  transport.onmessage = hear;
  return answer as unknown as Task;
}

const untilOver = (client: Client, taskId: string) =>
  until('the task is over', async () => {
    const task = await ask(client, 'tasks/get', { taskId });
    return task.status === 'working' ? null : task;
  });

describe('a client with tasks', () => {
  test.each([
    {
      tool: 'spawn_agent',
      args: { prompt: script('say Looking.\nawait one\nreport Done.') },
      file: 'one',
      id: /^run_\w+$/,
      result: { status: 'completed', result: 'Done.' },
    },
    {
      tool: 'start_squad_members',
      args: { members: [{ roleId: 'coder', task: script('await two\nreport Done.') }] },
      file: 'two',
      id: /^squad_\w+$/,
      result: { status: 'completed', members: [{ rawStdout: 'Done.' }] },
    },
    {
      tool: 'spawn_parallel',
      args: { agents: [{ prompt: script('await three\nreport a') }, { prompt: script('report b') }] },
      file: 'three',
      id: /^squad_\w+\.results$/,
      result: { results: [{ result: 'a' }, { result: 'b' }] },
    },
    {
      tool: 'spawn_parallel',
      args: { aggregate_results: true, agents: [{ prompt: script('await four\nreport a') }] },
      file: 'four',
      id: /^squad_\w+\.aggregate$/,
      result: { results: [{ result: 'a' }], aggregate: { ok: 1 } },
    },
  ])(
    'gets one from $tool, and from it what the call would have returned ($file)',
    { tags: ['C4'] },
    async ({ tool, args, file, id, result }) => {
      const client = await open();
      const task = await call(client, tool, args);
      expect(task).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 3000 });
      expect(task.taskId).toMatch(id);
      expect(task.ttlMs).toBeGreaterThan(24 * 3_600_000);
      // Any other connection may ask.
      const later = await open();
      expect(await ask(later, 'tasks/get', { taskId: task.taskId })).toMatchObject({ status: 'working' });
      squad.write(file, '');
      const over = await untilOver(later, task.taskId);
      expect(over.status).toBe('completed');
      expect(over.result!.structuredContent).toMatchObject(result);
    },
  );

  test('gets a one-line status', async () => {
    const client = await open();
    const { taskId } = await call(client, 'spawn_agent', {
      prompt: script('say Looking around.\nawait told'),
    });
    await until('it says so', async () =>
      /^scripted: running, Looking.*\(\d+ s ago\)$/.test(
        (await ask(client, 'tasks/get', { taskId })).statusMessage ?? '',
      ),
    );
    squad.write('told', '');
    await untilOver(client, taskId);
  });

  test('stops the agent by cancelling the task', { tags: ['C4'] }, async () => {
    const client = await open();
    const { taskId } = await call(client, 'spawn_agent', { prompt: script('hang') });
    const pid = await until('it runs', async () => {
      const { turns } = await squad.json<{ turns: { pid: number | null }[] }>(['show', taskId]);
      return turns[0]?.pid;
    });
    expect(await ask(client, 'tasks/cancel', { taskId })).not.toHaveProperty('isError');
    expect(await untilOver(client, taskId)).toMatchObject({ status: 'cancelled' });
    expect(isAlive(pid)).toBe(false);
  });

  test('finds it again after the hub was killed', { tags: ['C4'] }, async () => {
    const client = await open();
    const { taskId } = await call(client, 'spawn_agent', {
      prompt: script('await again\nreport Still here.'),
    });
    process.kill(await squad.hubPid(), 'SIGKILL');
    squad.write('again', '');
    const over = await untilOver(await open(), taskId);
    expect(over).toMatchObject({
      status: 'completed',
      result: { structuredContent: { result: 'Still here.' } },
    });
  });

  test('gets no task when it asked not to wait, nor for a refusal', async () => {
    const client = await open();
    expect(await callTool(client, 'spawn_agent', { prompt: script('report x'), async: true })).toMatchObject({
      spawn_id: expect.stringMatching(/^run_/),
    });
    expect(await callTool(client, 'spawn_agent', { prompt: '' })).toMatchObject({ isError: true });
  });

  test.each(['run_0000000000', 'squad_0000000000', 'run_0000000000.results', 'nonsense'])(
    'gets an error when there is no task %s',
    async taskId => {
      const client = await open();
      await expect(ask(client, 'tasks/get', { taskId })).rejects.toThrow(taskId);
      await expect(ask(client, 'tasks/cancel', { taskId })).rejects.toThrow(taskId);
    },
  );
});

test('a client without tasks waits for its result', async () => {
  const client = await squad.client({ modern: true });
  expect(await callTool(client, 'spawn_agent', { prompt: script('report x') })).toMatchObject({
    status: 'completed',
    result: 'x',
  });
});

describe('a client of 2025-11-25', () => {
  const legacy = async () => {
    const client = new RawMcp(squad);
    const { result } = await client.ask('initialize', { ...HANDSHAKE, protocolVersion: '2025-11-25' });
    expect(result).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
    });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  };
  const start = async (client: RawMcp, name: string, args: object) => {
    const { result, error } = await client.ask('tools/call', {
      name,
      arguments: args,
      task: { ttl: 60_000 },
    });
    return { task: (result as { task?: Record<string, unknown> } | undefined)?.task, result, error };
  };
  const spawn = (lines: string) => ({ prompt: script(lines), include_context: false });

  test('gets a task when it sends one, and from it what the call would have returned', {
    tags: ['C4'],
  }, async () => {
    const client = await legacy();
    const { task, result } = await start(client, 'spawn_agent', spawn('await legacy-one\nreport Done.'));
    expect(result).toEqual({ content: [], task });
    expect(task).toMatchObject({ status: 'working', pollInterval: 3000, ttl: expect.any(Number) });
    const { taskId } = task as { taskId: string };
    const waiting = client.ask('tasks/result', { taskId });
    // Any other connection may ask.
    const later = await legacy();
    expect((await later.ask('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'working' });
    squad.write('legacy-one', '');
    expect((await waiting).result).toMatchObject({
      structuredContent: { spawn_id: taskId, status: 'completed', result: 'Done.' },
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
    expect((await later.ask('tasks/get', { taskId })).result).toMatchObject({ status: 'completed' });
    expect((await later.ask('tasks/cancel', { taskId })).error).toMatchObject({ code: -32602 });
    await Promise.all([client.close(), later.close()]);
  });

  test('learns from the status that all runs of a task failed', async () => {
    const client = await legacy();
    const { task } = await start(client, 'start_squad_members', {
      members: [{ roleId: 'coder', task: script('fail it broke') }],
    });
    const { taskId } = task as { taskId: string };
    expect((await client.ask('tasks/result', { taskId })).result).toMatchObject({ isError: true });
    expect((await client.ask('tasks/get', { taskId })).result).toMatchObject({ status: 'failed' });
    await client.close();
  });

  test('gets a task also for a call that does not wait, and cancels it', async () => {
    const client = await legacy();
    const { task } = await start(client, 'spawn_agent', { ...spawn('hang'), async: true });
    const { taskId } = task as { taskId: string };
    expect((await client.ask('tasks/cancel', { taskId })).result).toMatchObject({ status: 'cancelled' });
    expect(await squad.statusOf(taskId)).toBe('cancelled');
    expect((await client.ask('tasks/result', { taskId })).error).toMatchObject({ code: -32602 });
    await client.close();
  });

  test('learns from the status that a question waits for it, once, and gets the form with tasks/result', async () => {
    const client = new RawMcp(squad);
    const capabilities = { elicitation: { form: {} } };
    await client.ask('initialize', { ...HANDSHAKE, protocolVersion: '2025-11-25', capabilities });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const { task } = await start(client, 'spawn_agent', spawn('ask Which colour?'));
    const { taskId } = task as { taskId: string };
    const status = async () => (await client.ask('tasks/get', { taskId })).result?.status;
    await until('it needs input', async () => (await status()) === 'input_required');
    const waiting = client.ask('tasks/result', { taskId });
    const [form] = await until('the form is there', () => {
      const forms = client.notices('elicitation/create');
      return forms.length > 0 && forms;
    });
    // The form is shown already: the client need not ask for it again.
    expect(await status()).toBe('working');
    client.send({ jsonrpc: '2.0', id: form!.id, result: { action: 'decline' } });
    expect((await waiting).result?.structuredContent).toMatchObject({
      result: expect.stringMatching(/declined/),
    });
    expect(client.notices('elicitation/create')).toHaveLength(1);

    const other = await start(client, 'spawn_agent', spawn('ask Which colour?'));
    const again = { taskId: (other.task as { taskId: string }).taskId };
    await until(
      'it asks',
      async () => (await client.ask('tasks/get', again)).result?.status === 'input_required',
    );
    expect((await client.ask('tasks/cancel', again)).result).toMatchObject({ status: 'cancelled' });
    await client.close();
  });

  test('is refused with a protocol error: it could not read a result', async () => {
    const client = await legacy();
    expect((await start(client, 'list_roles', {})).error).toMatchObject({
      code: -32601,
      data: { tool_name: 'list_roles' },
    });
    expect((await start(client, 'spawn_agent', { prompt: '' })).error).toMatchObject({
      code: -32602,
      data: { code: 'TASK_EMPTY', tool_name: 'spawn_agent' },
    });
    expect((await client.ask('tasks/get', { taskId: 'run_0000000000' })).error).toMatchObject({
      code: -32602,
    });
    await client.close();
  });

  test('can read which tools take a task, and gets none without asking', async () => {
    const client = await legacy();
    const { tools } = (await client.ask('tools/list')).result as {
      tools: { name: string; execution?: object }[];
    };
    const withTasks = tools.filter(({ execution }) => execution).map(({ name }) => name);
    expect(withTasks).toEqual(['start_squad_members', 'spawn_agent', 'spawn_parallel']);
    const { result } = await client.ask('tools/call', {
      name: 'spawn_agent',
      arguments: spawn('report Hi.'),
    });
    expect(result!.structuredContent).toMatchObject({ status: 'completed', result: 'Hi.' });
    await client.close();
  });
});
