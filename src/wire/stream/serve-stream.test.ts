import { afterEach, describe, expect, it } from 'vitest';
import type { Era } from '../face/face.ts';
import { type SampleFace, sampleFace } from '../testing/sample-face.ts';
import { type SocketRig, socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';

let rig: SocketRig;
let sample: SampleFace;
afterEach(() => rig.close());

const start = async (options: { onInFlight?(count: number): void; drainMs?: number } = {}) => {
  sample = sampleFace();
  rig = await socketRig({ build: () => sample.face, ...options });
};

const hello = {
  jsonrpc: '2.0',
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
};
const send = (socket: { write(text: string): unknown }, message: unknown) =>
  socket.write(`${JSON.stringify(message)}\n`);
const call = (id: number, name: string, more = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {}, ...more },
});

describe.each<Era>(['legacy', 'modern'])('a %s client over a socket', era => {
  it('lists the tools and reads the instructions', async () => {
    await start();
    const client = await rig.client(era);
    const { tools } = await client.listTools();
    expect(tools.map(tool => tool.name)).toEqual(['echo', 'refuse', 'crash', 'count', 'hold']);
    expect(client.getInstructions()).toBe('Only for tests.');
    expect(client.getProtocolEra()).toBe(era);
  });

  it('gets the structured result twice: as structure and as its exact JSON', async () => {
    await start();
    const client = await rig.client(era);
    const result = await client.callTool({ name: 'echo', arguments: { z: 1, a: 'ü\u2028"' } });
    expect(result.structuredContent).toEqual({
      args: { z: 1, a: 'ü\u2028"' },
      client: { name: 'wire-test', version: '9.9' },
      era,
    });
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(result.structuredContent) }]);
    expect(result.isError).toBeUndefined();
  });

  it('sees a refusal of the tool as a result, and a crash as an error with its code', async () => {
    await start();
    const client = await rig.client(era);
    const refused = await client.callTool({ name: 'refuse' });
    expect(refused).toMatchObject({ isError: true, structuredContent: { error: { code: 'TASK_EMPTY' } } });
    await expect(client.callTool({ name: 'crash' })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('No space for the run.'),
      data: { code: 'DISK_FULL', suggestions: ['Free some space.'] },
    });
  });

  it('gets every progress notice before the result, strictly increasing, and none after it', async () => {
    await start();
    const client = await rig.client(era);
    const seen: unknown[] = [];
    const result = await client.callTool({ name: 'count' }, { onprogress: notice => seen.push(notice) });
    expect(seen).toEqual([
      { message: 'one', progress: 0 },
      { message: 'far', progress: 10, total: 20 },
      { message: 'back', progress: 11, total: 20 },
      { message: 'last', progress: 20, total: 20 },
    ]);
    expect(result.structuredContent).toEqual({ asked: true });
    await client.callTool({ name: 'echo' });
    expect(seen).toHaveLength(4);
  });

  it('gets no notice it did not ask for', async () => {
    await start();
    const client = await rig.client(era);
    const result = await client.callTool({ name: 'count' });
    expect(result.structuredContent).toEqual({ asked: false });
  });

  it('cancels a call: its signal aborts, it is no longer in flight, other calls go on', async () => {
    await start();
    const client = await rig.client(era);
    const stop = new AbortController();
    const call = client.callTool({ name: 'hold' }, { signal: stop.signal });
    await until(() => sample.held.length === 1, 'the call arrives');
    expect(rig.connections[0]!.inFlight()).toBe(1);
    stop.abort('changed my mind');
    await expect(call).rejects.toThrow('changed my mind');
    await until(() => sample.ended.length === 1, 'the signal reaches the tool');
    expect(sample.ended).toEqual(['aborted']);
    expect(rig.connections[0]!.inFlight()).toBe(0);
    expect((await client.callTool({ name: 'echo' })).isError).toBeUndefined();
  });

  it('learns what is unknown: tool, prompt, resource, method, cursor', async () => {
    await start();
    const client = await rig.client(era);
    await expect(client.callTool({ name: 'nope' })).rejects.toMatchObject({
      code: -32602,
      message: /Unknown tool: nope/,
    });
    await expect(client.getPrompt({ name: 'nope' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.readResource({ uri: 'sample://nope' })).rejects.toMatchObject({ code: -32602 });
    await expect(
      client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: '' } }),
    ).rejects.toThrow();
    await expect(client.request({ method: 'tools/list', params: { cursor: 'x' } })).rejects.toMatchObject({
      code: -32602,
    });
  });

  it('hears that the tools changed, and of updates to a resource it watches', async () => {
    await start();
    const client = await rig.client(era);
    const heard: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'));
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void heard.push(params.uri),
    );
    if (era === 'legacy') await client.subscribeResource({ uri: 'sample://a' });
    else await client.listen({ toolsListChanged: true, resourceSubscriptions: ['sample://a'] });
    const { notices } = rig.connections[0]!;
    notices.resourceUpdated('sample://b');
    notices.resourceUpdated('sample://a');
    notices.toolsChanged();
    await until(() => heard.length >= 2, 'both notices');
    expect(heard).toEqual(['sample://a', 'tools']);
  });

  it('aborts calls when the client goes away, and the connection settles', async () => {
    await start();
    const client = await rig.client(era);
    void client.callTool({ name: 'hold' }).catch(() => {});
    await until(() => sample.held.length === 1, 'the call arrives');
    await client.close();
    await rig.connections[0]!.closed;
    await until(() => sample.ended.length === 1, 'the signal reaches the tool');
    expect(sample.ended).toEqual(['aborted']);
    expect(rig.connections[0]!.inFlight()).toBe(0);
  });
});

describe('a client that probes for the modern era', () => {
  it('may fall back to the handshake on the same connection', async () => {
    await start();
    const { socket, lines } = await rig.raw();
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    send(socket, { jsonrpc: '2.0', id: 'probe', method: 'server/discover', params: { _meta } });
    send(socket, hello);
    send(socket, call(1, 'echo'));
    await until(() => lines.length === 3, 'three answers');
    expect(lines).toMatchObject([
      { id: 'probe', result: { supportedVersions: ['2026-07-28'] } },
      { id: 'hello', result: { protocolVersion: '2025-06-18' } },
      { id: 1, result: { structuredContent: { era: 'legacy', client: { name: 'raw' } } } },
    ]);
  });
});

describe('a client of the current revision that gets its version wrong', () => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const request = (id: string, method: string, meta?: object) => ({
    jsonrpc: '2.0',
    id,
    method,
    params: meta ? { _meta: meta } : {},
  });
  const other = { ..._meta, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' };

  it('gets an error when it opens without one, and may continue', async () => {
    await start();
    const { socket, lines } = await rig.raw();
    send(socket, request('without', 'server/discover'));
    send(socket, request('with', 'server/discover', _meta));
    await until(() => lines.length === 2, 'two answers');
    send(socket, request('list', 'tools/list', _meta));
    await until(() => lines.length === 3, 'the list');
    expect(lines).toMatchObject([
      { id: 'without', error: { code: -32602 } },
      { id: 'with', result: { supportedVersions: ['2026-07-28'] } },
      { id: 'list', result: { resultType: 'complete' } },
    ]);
  });

  it('gets the supported versions when it sends another one later', async () => {
    await start();
    const { socket, lines } = await rig.raw();
    send(socket, request('right', 'tools/list', _meta));
    await until(() => lines.length === 1, 'its first answer');
    for (const method of ['server/discover', 'tools/list']) send(socket, request(method, method, other));
    await until(() => lines.length === 3, 'all three answers');
    const error = { code: -32022, data: { supported: ['2026-07-28'], requested: '2031-01-01' } };
    expect(lines.slice(1)).toMatchObject([
      { id: 'server/discover', error },
      { id: 'tools/list', error },
    ]);
  });

  it('is a legacy client after a legacy handshake', async () => {
    await start();
    const { socket, lines } = await rig.raw();
    send(socket, hello);
    await until(() => lines.length === 1, 'the handshake');
    send(socket, request('without', 'server/discover'));
    await until(() => lines.length === 2, 'its answer');
    expect(lines[1]).toMatchObject({ id: 'without', error: { code: -32601 } });
  });
});

describe('progress nobody waited for', () => {
  it('is on the wire before the result', async () => {
    await start();
    sample.face.tools.call = async (_name, _args, { progress }) => {
      for (let step = 0; step < 100; step += 1) void progress(`step ${step}`);
      return { structured: {} };
    };
    const { socket, lines } = await rig.raw();
    send(socket, hello);
    send(socket, call(1, 'any', { _meta: { progressToken: 'p' } }));
    await until(() => lines.some(line => line.id === 1), 'the result');
    expect(lines).toHaveLength(102);
    expect(lines.at(-1)?.id).toBe(1);
  });
});

describe('a cancelled call', () => {
  it('is never answered', async () => {
    await start();
    const { socket, lines } = await rig.raw();
    send(socket, hello);
    send(socket, call(1, 'hold'));
    await until(() => sample.held.length === 1, 'the call');
    send(socket, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await until(() => sample.ended.length === 1, 'the signal');
    send(socket, call(2, 'echo'));
    await until(() => lines.some(line => line.id === 2), 'the next answer');
    expect(lines.map(line => line.id)).toEqual(['hello', 2]);
  });
});

describe('a client that ends its input but still reads', () => {
  it('gets the answers of what it asked, then the end', async () => {
    await start();
    const { socket, lines } = await rig.raw();
    socket.write(
      [hello, call(1, 'hold'), call(2, 'echo')].map(message => `${JSON.stringify(message)}\n`).join(''),
    );
    socket.end();
    await rig.connections[0]!.closed;
    await until(() => socket.closed, 'our end closes too');
    expect(lines.map(line => line.id).toSorted()).toEqual([1, 2, 'hello']);
    expect(lines.find(line => line.id === 1)?.result?.structuredContent).toEqual({ how: 'aborted' });
  });

  it('is cut off when a call takes no notice of its signal', async () => {
    await start({ drainMs: 20 });
    sample.face.tools.call = () => new Promise(() => {});
    const { socket } = await rig.raw();
    socket.write(`${JSON.stringify(hello)}\n${JSON.stringify(call(1, 'hold'))}\n`);
    socket.end();
    await rig.connections[0]!.closed;
    expect(rig.connections[0]!.inFlight()).toBe(0);
  });
});

describe('the count of requests in flight', () => {
  it('rises with a request and falls with its answer', async () => {
    const counts: number[] = [];
    await start({ onInFlight: count => counts.push(count) });
    const { socket, lines } = await rig.raw();
    send(socket, hello);
    await until(() => lines.length === 1, 'the handshake');
    send(socket, call(1, 'hold'));
    send(socket, call(2, 'hold'));
    await until(() => sample.held.length === 2, 'both calls');
    expect(rig.connections[0]!.inFlight()).toBe(2);
    sample.held[1]!.release();
    sample.held[0]!.release();
    await until(() => lines.length === 3, 'both answers');
    expect(counts).toEqual([1, 0, 1, 2, 1, 0]);
  });
});
