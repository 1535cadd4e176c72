import { afterEach, describe, expect, it } from 'vitest';
import type { Era } from '../face/face.ts';
import { type HttpRig, httpRig } from '../testing/http-rig.ts';
import { type SampleFace, sampleFace } from '../testing/sample-face.ts';
import { until } from '../testing/until.ts';
import type { HttpHandler, HttpOptions } from './serve-http.ts';

let rig: HttpRig;
let handler: HttpHandler;
let sample: SampleFace;
let url: URL;
afterEach(() => rig.close());

async function start(options: Partial<HttpOptions> = {}): Promise<void> {
  sample = sampleFace();
  rig = await httpRig({ build: () => sample.face, ...options });
  ({ handler, url } = rig);
}

const connect = (era: Era, headers: Record<string, string> = {}) => rig.client(era, headers);
const post = (body: string, headers: Record<string, string> = {}) => rig.post(body, headers);
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
});
/** Opens a legacy session by hand; reading the answer to its end ends the request. */
async function openSession(headers: Record<string, string> = {}): Promise<string> {
  const response = await post(initialize, headers);
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}
const ping = async (session: string, headers: Record<string, string> = {}) =>
  (await post('{"jsonrpc":"2.0","id":2,"method":"ping"}', { 'mcp-session-id': session, ...headers })).status;

describe.each<Era>(['legacy', 'modern'])('a %s client over HTTP', era => {
  it('lists and calls, with the result as structure and as its exact JSON', async () => {
    await start();
    const client = await connect(era);
    expect((await client.listTools()).tools).toHaveLength(5);
    const result = await client.callTool({ name: 'echo', arguments: { a: 1 } });
    expect(result.structuredContent).toEqual({
      args: { a: 1 },
      client: { name: 'wire-test', version: '9.9' },
      era,
    });
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(result.structuredContent) }]);
  });

  it('is built for from its own request', async () => {
    await start({
      build: request => ({ ...sample.face, instructions: `For ${request.headers['x-workspace']}.` }),
    });
    const client = await connect(era, { 'x-workspace': 'blue' });
    expect(client.getInstructions()).toBe('For blue.');
  });

  it('gets progress while the call is still open', async () => {
    await start();
    const client = await connect(era);
    const seen: unknown[] = [];
    const call = client.callTool({ name: 'hold' }, { onprogress: notice => seen.push(notice) });
    await until(() => sample.held.length === 1, 'the call arrives');
    await sample.held[0]!.call.progress('working', 1, 2);
    await until(() => seen.length === 1, 'the notice');
    expect(seen).toEqual([{ message: 'working', progress: 1, total: 2 }]);
    sample.held[0]!.release();
    expect((await call).structuredContent).toEqual({ how: 'released' });
  });

  it('cancels a call: its signal aborts and it is no longer in flight', async () => {
    const counts: number[] = [];
    await start({ onInFlight: count => counts.push(count) });
    const client = await connect(era);
    const stop = new AbortController();
    const call = client.callTool({ name: 'hold' }, { signal: stop.signal });
    await until(() => sample.held.length === 1, 'the call arrives');
    await until(() => handler.inFlight() === 1, 'only the call is in flight');
    stop.abort('enough');
    await expect(call).rejects.toThrow();
    await until(() => sample.ended.length === 1, 'the signal reaches the tool');
    expect(sample.ended).toEqual(['aborted']);
    await until(() => handler.inFlight() === 0, 'nothing is in flight');
    expect(counts).toContain(1);
  });

  it('learns of an unknown tool, and of a crash with its code', async () => {
    await start();
    const client = await connect(era);
    await expect(client.callTool({ name: 'nope' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.callTool({ name: 'crash' })).rejects.toMatchObject({
      code: -32603,
      data: { code: 'DISK_FULL' },
    });
  });

  it('hears that the tools changed', async () => {
    await start();
    const client = await connect(era);
    let heard = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      heard += 1;
    });
    if (era === 'modern') await client.listen({ toolsListChanged: true });
    await until(() => {
      handler.notices.toolsChanged();
      return heard > 0;
    }, 'the notice');
    expect(handler.inFlight()).toBe(0);
  });

  it('hears of updates to a resource it watches, and of no other', async () => {
    await start();
    const client = await connect(era);
    const heard: string[] = [];
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void heard.push(params.uri),
    );
    if (era === 'legacy') await client.subscribeResource({ uri: 'sample://a' });
    else await client.listen({ resourceSubscriptions: ['sample://a'] });
    await until(() => {
      handler.notices.resourceUpdated('sample://b');
      handler.notices.resourceUpdated('sample://a');
      return heard.length > 0;
    }, 'the notice');
    expect(new Set(heard)).toEqual(new Set(['sample://a']));
  });

  it('is sent away with its calls aborted when the handler closes', async () => {
    await start();
    const client = await connect(era);
    void client.callTool({ name: 'hold' }).catch(() => {});
    await until(() => sample.held.length === 1, 'the call arrives');
    await handler.close();
    await until(() => sample.ended.length === 1, 'the signal reaches the tool');
    expect(sample.ended).toEqual(['aborted']);
    expect((await post(initialize)).status).toBe(503);
    expect(handler.sessions()).toBe(0);
  });
});

describe('a body that cannot be served', () => {
  it('is refused when it is not JSON', async () => {
    await start();
    const response = await post('{nope');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32700 } });
  });

  it('is refused when it is over the limit', async () => {
    await start({ maxBodyBytes: 1000 });
    const response = await post(JSON.stringify({ filler: 'x'.repeat(2000) }));
    expect(response.status).toBe(413);
    expect(handler.inFlight()).toBe(0);
  });

  it('is refused when it is a broken handshake or has no session', async () => {
    await start();
    const broken = await post('{"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}');
    expect(broken.status).toBe(400);
    expect(await broken.json()).toMatchObject({ id: 5, error: { code: -32602 } });
    expect((await post('{"jsonrpc":"2.0","id":6,"method":"tools/list"}')).status).toBe(400);
    expect(await ping('no-such-session')).toBe(404);
    expect(handler.sessions()).toBe(0);
  });

  it('leaves no session behind when the handshake is refused', async () => {
    await start();
    expect((await post(initialize, { accept: 'text/html' })).status).toBe(406);
    expect(handler.sessions()).toBe(0);
  });
});

describe('legacy sessions', () => {
  it('end when the client says so', async () => {
    await start();
    const session = await openSession();
    expect(handler.sessions()).toBe(1);
    expect(await ping(session)).toBe(200);
    expect((await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })).status).toBe(200);
    expect(await ping(session)).toBe(404);
    expect(handler.sessions()).toBe(0);
  });

  it('make room by ending the one longest unused', {
    tags: ['R21', 'streams-and-sessions-that-are-never-closed'],
  }, async () => {
    await start({ maxSessions: () => 2 });
    const first = await openSession();
    const second = await openSession();
    expect(await ping(first)).toBe(200);
    const third = await openSession();
    expect(await Promise.all([ping(first), ping(second), ping(third)])).toEqual([200, 404, 200]);
  });

  it('are not ended while in use, even if there is no room left', async () => {
    await start({ maxSessions: () => 1 });
    const client = await connect('legacy');
    const call = client.callTool({ name: 'hold' });
    await until(() => sample.held.length === 1, 'the call arrives');
    expect((await post(initialize)).status).toBe(503);
    sample.held[0]!.release();
    expect((await call).structuredContent).toEqual({ how: 'released' });
  });

  it("of one owner make no room at another's cost, and take none away", async () => {
    await start({ maxSessions: () => 2, owner: request => String(request.headers['x-user']) });
    const ofBob = await openSession({ 'x-user': 'bob' });
    const ofAnn = [];
    for (let count = 0; count < 10; count++) ofAnn.push(await openSession({ 'x-user': 'ann' }));
    expect(await Promise.all(ofAnn.map(session => ping(session, { 'x-user': 'ann' })))).toEqual([
      ...Array(8).fill(404),
      ...[200, 200],
    ]);
    expect(await ping(ofBob, { 'x-user': 'bob' })).toBe(200);

    const left = new AbortController();
    for (const session of ofAnn.slice(-2)) {
      const headers = { accept: 'text/event-stream', 'mcp-session-id': session, 'x-user': 'ann' };
      expect((await fetch(url, { headers, signal: left.signal })).status).toBe(200);
    }
    expect((await post(initialize, { 'x-user': 'ann' })).status).toBe(503);
    expect((await post(initialize, { 'x-user': 'bob' })).status).toBe(200);
    left.abort();
  });

  it('end after being idle', { tags: ['R21', 'streams-and-sessions-that-are-never-closed'] }, async () => {
    await start({ sessionIdleMs: 20 });
    await openSession();
    await until(() => handler.sessions() === 0, 'the session ends by itself');
  });

  it('end soon when their id holds all that is known of them, and later when it does not', {
    tags: ['R21'],
  }, async () => {
    await start({ bareSessionIdleMs: 20 });
    const tell = async (method: string, params: object) => {
      const session = await openSession();
      const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method, params });
      const response = await post(body, { 'mcp-session-id': session });
      expect(await response.text()).toContain('"result":{}');
    };
    await tell('resources/subscribe', { uri: 'squad://roster' });
    const long = { name: 'raw', version: 'x'.repeat(2_000) };
    const text = initialize.replace('{"name":"raw","version":"0"}', JSON.stringify(long));
    await (await post(text)).text();
    await openSession();
    expect(handler.sessions()).toBe(3);
    await until(() => handler.sessions() === 2, 'the session ends by itself');
    await openSession();
    await until(() => handler.sessions() === 2, 'the next one ends, too');
  });

  it('of an earlier hub are opened again when their client comes back, as the same client', async () => {
    await start();
    const session = await openSession();
    await rig.close();
    await start({ owner: request => String(request.headers['x-user'] ?? '') });
    const call = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 3, method: 'tools/call' },
      params: { name: 'echo', arguments: {} },
    });
    const calls = await Promise.all(
      [1, 2, 3].map(async () => {
        const response = await post(call, { 'mcp-session-id': session });
        return [response.status, await response.text()] as const;
      }),
    );
    for (const [status, text] of calls) {
      expect(status).toBe(200);
      expect(text).toContain('raw');
    }
    expect(handler.sessions()).toBe(1);
    expect(await ping(session, { 'x-user': 'bob' })).toBe(404);
    expect((await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })).status).toBe(200);
    expect(await ping(session)).toBe(404);
    // As versions before this one named them.
    expect(await ping('3b241101-e2bb-4255-8caf-4136c566a962')).toBe(200);
    const broken = `${session.slice(0, 36)}.bm9uc2Vuc2U`;
    expect(await ping(broken)).toBe(404);
  });

  it('that were idle for too long are opened again, too', async () => {
    await start({ sessionIdleMs: 20 });
    const session = await openSession();
    await until(() => handler.sessions() === 0, 'the session ends by itself');
    expect(await ping(session)).toBe(200);
  });

  it('answer only the caller that opened them', async () => {
    await start({ owner: request => String(request.headers['x-user']) });
    const session = await openSession({ 'x-user': 'ann' });
    expect(await ping(session, { 'x-user': 'bob' })).toBe(404);
    expect(await ping(session, { 'x-user': 'ann' })).toBe(200);
  });

  it('let a client open its listening stream again at once after losing it', async () => {
    await start();
    const session = await openSession();
    const listen = async () => {
      const left = new AbortController();
      const headers = { accept: 'text/event-stream', 'mcp-session-id': session };
      const response = await fetch(url, { headers, signal: left.signal });
      return { status: response.status, leave: () => left.abort() };
    };
    const first = await listen();
    expect([first.status, (await listen()).status]).toEqual([200, 409]);
    first.leave();
    let again = 0;
    for (let attempt = 0; attempt < 100 && again !== 200; attempt += 1) again = (await listen()).status;
    expect(again).toBe(200);
  });
});
