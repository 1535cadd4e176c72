import type { Client, ClientCapabilities } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { httpRig } from '../testing/http-rig.ts';
import { socketRig } from '../testing/socket-client.ts';
import { broken, type TaskTable, task, taskFace } from '../testing/task-face.ts';
import { until } from '../testing/until.ts';
import type { Era } from './face.ts';
import { TASKS } from './face-tasks.ts';

interface Rig {
  client(era: Era, capabilities?: ClientCapabilities): Promise<Client>;
  close(): Promise<void>;
}
const rigs: Record<string, (table: TaskTable) => Promise<Rig>> = {
  'a socket': table => socketRig({ build: () => taskFace(table) }),
  HTTP: async table => {
    const rig = await httpRig({ build: () => taskFace(table) });
    return { client: (era, capabilities) => rig.client(era, {}, capabilities), close: rig.close };
  },
};

const WITH_TASKS: ClientCapabilities = { extensions: { [TASKS]: {} } };
const anything = z.looseObject({});
const run = (client: Client, id: string, name = 'run') =>
  client.request({ method: 'tools/call', params: { name, arguments: { id } } }, anything);
const ask = (client: Client, method: string, params: Record<string, unknown>) =>
  client.request({ method, params }, anything);

const opened: Rig[] = [];
afterEach(() => Promise.all(opened.splice(0).map(rig => rig.close())));

describe.each(Object.keys(rigs))('over %s', transport => {
  const serve = async (table: TaskTable) => {
    const rig = await rigs[transport]!(table);
    opened.push(rig);
    return rig;
  };
  const wire = {
    taskId: 'run_1',
    status: 'working',
    statusMessage: 'Reading the code',
    createdAt: '2026-01-02T03:04:05.000Z',
    lastUpdatedAt: '2026-01-02T03:04:06.000Z',
    ttlMs: null,
    pollIntervalMs: 3000,
  };

  it('a client with tasks gets a task as answer, and the capability in the handshake', async () => {
    const client = await (await serve(new Map())).client('modern', WITH_TASKS);
    expect(client.getServerCapabilities()?.extensions).toEqual({ [TASKS]: {} });
    const raw = await rawAnswer(client, () => run(client, 'run_1'));
    expect(raw).toMatchObject({ resultType: 'task', ...wire });
    expect(raw).not.toHaveProperty('result');
  });

  it('any connection to any later server can ask for it, until it has its result', async () => {
    const table: TaskTable = new Map();
    await run(await (await serve(table)).client('modern', WITH_TASKS), 'run_1').catch(() => {});
    const client = await (await serve(table)).client('modern', WITH_TASKS);
    expect(await ask(client, 'tasks/get', { taskId: 'run_1' })).toMatchObject(wire);
    table.set('run_1', { ...task('run_1'), status: 'completed', result: { structured: { a: 1 } } });
    expect(await ask(client, 'tasks/get', { taskId: 'run_1' })).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } },
    });
  });

  it('a task without a result says why, in the words a failed call would have', async () => {
    const client = await (await serve(new Map([['run_1', broken('run_1')]]))).client('modern', WITH_TASKS);
    const answer = await ask(client, 'tasks/get', { taskId: 'run_1' });
    expect(answer).toMatchObject({
      status: 'failed',
      error: { code: -32603, message: 'No space for the run.', data: { code: 'DISK_FULL' } },
    });
    expect(answer).not.toHaveProperty('result');
  });

  it('cancelling and answering are acknowledged with nothing in it', async () => {
    const table: TaskTable = new Map([['run_1', task('run_1')]]);
    const client = await (await serve(table)).client('modern', WITH_TASKS);
    const unasked = { taskId: 'run_1', inputResponses: { unasked: {} } };
    expect(await ask(client, 'tasks/update', unasked)).not.toHaveProperty('status');
    expect(table.get('run_1')?.status).toBe('working');
    expect(await ask(client, 'tasks/cancel', { taskId: 'run_1' })).not.toHaveProperty('status');
    expect(table.get('run_1')?.status).toBe('cancelled');
  });

  it.each(['tasks/get', 'tasks/cancel', 'tasks/update'])(
    '%s refuses an id it does not know',
    async method => {
      const client = await (await serve(new Map())).client('modern', WITH_TASKS);
      await expect(ask(client, method, { taskId: 'nope', inputResponses: {} })).rejects.toMatchObject({
        code: -32602,
        message: /Unknown task: nope/,
      });
      await expect(ask(client, method, { inputResponses: {} })).rejects.toMatchObject({ code: -32602 });
    },
  );

  it('a modern client without tasks never sees one', async () => {
    const table: TaskTable = new Map([['run_1', task('run_1')]]);
    const client = await (await serve(table)).client('modern');
    expect((await client.callTool({ name: 'run' })).structuredContent).toEqual({ waited: true });
    const missing = { code: -32021, data: { requiredCapabilities: WITH_TASKS } };
    await expect(run(client, 'run_2', 'stubborn')).rejects.toMatchObject(missing);
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const params = { taskId: 'run_1', inputResponses: {} };
      await expect(ask(client, method, params)).rejects.toMatchObject(missing);
    }
  });

  it('a legacy client sees one only if its request asks for it', async () => {
    const client = await (await serve(new Map([['run_1', task('run_1')]]))).client('legacy', WITH_TASKS);
    expect(client.getServerCapabilities()).not.toHaveProperty('extensions');
    expect((await client.callTool({ name: 'run' })).structuredContent).toEqual({ waited: true });
    await expect(run(client, 'run_2', 'stubborn')).rejects.toMatchObject({ code: -32021 });
    const params = { name: 'run', arguments: { id: 'run_3' }, task: {} };
    const { ttlMs: ttl, pollIntervalMs: pollInterval, ...rest } = wire;
    const legacyWire = { ...rest, ttl, pollInterval, taskId: 'run_3' };
    expect(await ask(client, 'tools/call', params)).toMatchObject({ task: legacyWire });
    expect(await ask(client, 'tasks/get', { taskId: 'run_3' })).toEqual(legacyWire);
    await expect(ask(client, 'tasks/update', { taskId: 'run_3' })).rejects.toMatchObject({ code: -32601 });
  });
});

describe('on one connection', () => {
  it('each request says for itself whether it may become a task', async () => {
    const rig = await socketRig({ build: () => taskFace(new Map()) });
    opened.push(rig);
    const { socket, lines } = await rig.raw();
    const call = (id: number, capabilities: ClientCapabilities) => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': capabilities,
      };
      const params = { name: 'run', arguments: { id: `run_${id}` }, _meta };
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    };
    call(1, {});
    call(2, WITH_TASKS);
    call(3, {});
    await until(() => lines.length === 3, 'three answers');
    expect(lines.sort((a, b) => Number(a.id) - Number(b.id)).map(line => line.result)).toMatchObject([
      { structuredContent: { waited: true } },
      { resultType: 'task', taskId: 'run_2' },
      { structuredContent: { waited: true } },
    ]);
  });
});

describe('on a connection that opened with the handshake', () => {
  it('a request in modern dress is no reason for a task', async () => {
    const rig = await socketRig({ build: () => taskFace(new Map()) });
    opened.push(rig);
    const { socket, lines } = await rig.raw();
    const send = (id: number, method: string, params: object) =>
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    const clientInfo = { name: 'raw', version: '0' };
    send(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': WITH_TASKS,
    };
    send(2, 'tools/call', { name: 'run', arguments: { id: 'run_1' }, _meta });
    await until(() => lines.length === 2, 'two answers');
    expect(lines[1]?.result).toMatchObject({ structuredContent: { waited: true } });
  });
});

/** The answer as it came: the client itself does not know what to do with a task. */
async function rawAnswer(client: Client, request: () => Promise<unknown>): Promise<unknown> {
  let answer: unknown;
  const transport = client.transport!;
  const pass = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if ('result' in message) answer = message.result;
    pass?.(message, extra);
  };
  await request().catch(() => {});
  return answer;
}
