import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Era } from '../face/face.ts';
import { ENVELOPE, httpHeaders, message, messagesOf } from '../testing/edges.ts';
import { type FarFace, farFace } from '../testing/far-face.ts';
import { type HttpRig, httpRig } from '../testing/http-rig.ts';
import { until } from '../testing/until.ts';
import type { HttpOptions } from './serve-http.ts';

let rig: HttpRig;
let far: FarFace;
let counts: number[];
afterEach(() => rig.close());

async function start(options: Partial<HttpOptions> = {}): Promise<void> {
  far = farFace({ direct: true });
  counts = [];
  rig = await httpRig({ build: () => far.face, onInFlight: count => counts.push(count), ...options });
}

async function openSession(headers: Record<string, string> = {}): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '0' },
  };
  const response = await rig.post(JSON.stringify(message('legacy', 'initialize', params, 0)), headers);
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}

interface Options {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  id?: number | string;
  token?: number | string;
}

/** A call as a client of the era sends it; legacy ones in a session of their own unless they name one. */
async function call(era: Era, name: string, key: string, { headers, signal, id = 1, token }: Options = {}) {
  const params = {
    name,
    arguments: { key },
    ...(token !== undefined && { _meta: { progressToken: token } }),
  };
  const session =
    era === 'legacy' && !headers?.['mcp-session-id'] ? { 'mcp-session-id': await openSession(headers) } : {};
  return fetch(rig.url, {
    method: 'POST',
    body: JSON.stringify(message(era, 'tools/call', params, id)),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...session,
      ...httpHeaders(era, 'tools/call', params),
      ...headers,
    },
    ...(signal && { signal }),
  });
}

const holds = (count: number) => until(() => far.held.length === count, `${count} calls are under way`);
const answer = async (response: Response) => JSON.parse((await messagesOf(response)).at(-1)!);

describe.each<Era>(['legacy', 'modern'])('a forwarded call of a %s client over HTTP', era => {
  it('is answered in one piece when there is nothing to say before', async () => {
    await start();
    const response = await call(era, 'far__echo', 'a', { token: 5 });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('mcp-session-id') === null).toBe(era === 'modern');
    expect(await answer(response)).toMatchObject({
      id: 1,
      result: { structuredContent: { args: { key: 'a' } } },
    });
    await until(() => rig.handler.inFlight() === 0, 'nothing is in flight');
    expect([Math.max(...counts), counts.at(-1)]).toEqual([1, 0]);
  });

  it('is answered as a stream from the first notice on', async () => {
    await start();
    const coming = call(era, 'far__hold', 'a', { token: 'tok' });
    await holds(1);
    far.held[0]!.call.progress?.({ progress: 1, message: 'soon' });
    const response = await coming;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    far.held[0]!.release();
    const said = (await messagesOf(response)).map(text => JSON.parse(text));
    expect(said).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'tok', progress: 1, message: 'soon' } },
      { id: 1, result: { content: [{ text: 'held a' }] } },
    ]);
  });

  it('has its stream opened when no answer comes for a while', async () => {
    await start({ openStreamMs: 20 });
    const response = await call(era, 'far__hold', 'a');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(far.held).toHaveLength(1);
    far.held[0]!.release();
    expect(await answer(response)).toMatchObject({ result: { content: [{ text: 'held a' }] } });
  });

  it('is answered in JSON alone to a client that reads nothing else, however long it takes', async () => {
    await start({ openStreamMs: 1 });
    const headers = {
      ...(era === 'legacy' && { 'mcp-session-id': await openSession() }),
      accept: 'application/json',
    };
    const coming = call(era, 'far__hold', 'a', { headers, token: 1 });
    await holds(1);
    far.held[0]!.call.progress?.({ progress: 1 });
    // By the time this one's stream was opened, that of the first would have been.
    await call(era, 'far__hold', 'b');
    far.held[0]!.release();
    const response = await coming;
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'held a' }] } });
  });

  it('is answered as a stream to a client that reads nothing else', async () => {
    await start();
    const headers = {
      ...(era === 'legacy' && { 'mcp-session-id': await openSession() }),
      accept: 'text/event-stream',
    };
    const response = await call(era, 'far__echo', 'a', { headers });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await answer(response)).toMatchObject({ result: { structuredContent: { args: { key: 'a' } } } });
  });

  it('is aborted when its client goes away, and counted no more', async () => {
    await start();
    const left = new AbortController();
    const lost = call(era, 'far__hold', 'a', { signal: left.signal });
    lost.catch(() => {});
    await holds(1);
    await until(() => rig.handler.inFlight() === 1, 'the call is in flight');
    left.abort();
    await until(() => far.aborted.length === 1, 'the signal');
    await until(() => rig.handler.inFlight() === 0, 'nothing is in flight');
  });

  it("is answered with the end of its owner's access, and nobody else's is", async () => {
    await start({ owner: request => String(request.headers['x-user']) });
    const lost = call(era, 'far__hold', 'lost', { headers: { 'x-user': 'ann' } });
    const kept = call(era, 'far__hold', 'kept', { headers: { 'x-user': 'bob' } });
    await holds(2);
    await rig.handler.endSessions('ann');
    expect(await answer(await lost)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32000, message: 'This access has ended', data: { tool_name: 'far__hold' } },
    });
    expect(far.aborted).toEqual(['lost']);
    for (const { release } of far.held) release();
    expect(await answer(await kept)).toMatchObject({ result: { content: [{ text: 'held kept' }] } });
  });

  it('gets an error in a stream that is open already', async () => {
    await start({ owner: () => 'ann', openStreamMs: 5 });
    const response = await call(era, 'far__hold', 'a');
    await rig.handler.endSessions('ann');
    expect(await answer(response)).toMatchObject({ id: 1, error: { code: -32000 } });
  });

  it('breaks off with the handler, so that nobody takes its end for an answer', async () => {
    await start();
    const lost = call(era, 'far__hold', 'a').then(answer);
    lost.catch(() => {}); // looked at below
    await holds(1);
    await rig.handler.close();
    await expect(lost).rejects.toThrow();
    expect(far.aborted).toEqual(['a']);
    await until(() => rig.handler.inFlight() === 0, 'nothing is in flight');
  });
});

it('a request whose client is gone before its body is looked at is let go', async () => {
  await start();
  const settled: unknown[] = [];
  const late = createServer((request, response) => {
    const handle = () => rig.handler.handle(request, response).then(() => settled.push('let go'));
    request.once('close', () => setImmediate(handle));
    request.on('error', () => {});
    asked.destroy();
  });
  late.listen(0, '127.0.0.1');
  await once(late, 'listening');
  const { port } = late.address() as { port: number };
  const headers = { 'content-type': 'application/json', 'content-length': 10 };
  const asked = httpRequest({ host: '127.0.0.1', port, method: 'POST', headers });
  asked.on('error', () => {}).flushHeaders();
  await until(() => settled.length === 1, 'the request is let go');
  expect(rig.handler.inFlight()).toBe(0);
  late.close();
  await once(late, 'close');
});

describe('in a legacy session', () => {
  it('a call is cancelled by its id, and its answer ends without a word', async () => {
    await start();
    const headers = { 'mcp-session-id': await openSession() };
    const other = { 'mcp-session-id': await openSession() };
    const cancelled = call('legacy', 'far__hold', 'cancelled', { headers, id: 7 });
    const same = call('legacy', 'far__hold', 'other session', { headers: other, id: 7 });
    const word = call('legacy', 'far__hold', 'other id', { headers, id: '7' });
    await holds(3);
    const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    expect((await rig.post(JSON.stringify(notice), headers)).status).toBe(202);
    const response = await cancelled;
    expect(response.status).toBe(200);
    expect(await messagesOf(response)).toEqual([]);
    expect(far.aborted).toEqual(['cancelled']);
    for (const { release } of far.held) release();
    expect(await answer(await same)).toMatchObject({ result: { content: [{ text: 'held other session' }] } });
    expect(await answer(await word)).toMatchObject({ result: { content: [{ text: 'held other id' }] } });
  });

  it('a call belongs to its owner: another owner gets the answer that there is no such session', async () => {
    await start({ owner: request => String(request.headers['x-user']) });
    const session = await openSession({ 'x-user': 'ann' });
    const foreign = await call('legacy', 'far__echo', 'a', {
      headers: { 'mcp-session-id': session, 'x-user': 'bob' },
    });
    expect(foreign.status).toBe(404);
    expect(far.past).toEqual([]);
  });

  it('a call keeps the session from ending for being idle, or for want of room', async () => {
    await start({ sessionIdleMs: 2_000, maxSessions: () => 1 });
    const headers = { 'mcp-session-id': await openSession() };
    const slow = call('legacy', 'far__hold', 'a', { headers });
    await holds(1);
    expect((await call('legacy', 'far__echo', 'x', { headers: { 'mcp-session-id': 'none' } })).status).toBe(
      404,
    );
    expect(await openSession()).toBe('');
    expect((await call('legacy', 'far__echo', 'b', { headers })).status).toBe(200);
    expect(rig.handler.sessions()).toBe(1);
    far.held[0]!.release();
    expect(await answer(await slow)).toMatchObject({ result: { content: [{ text: 'held a' }] } });
    await until(() => rig.handler.sessions() === 0, 'the session ends by itself');
  });

  it('calls end when the client ends the session', async () => {
    await start();
    const headers = { 'mcp-session-id': await openSession() };
    const lost = call('legacy', 'far__hold', 'a', { headers });
    await holds(1);
    expect((await fetch(rig.url, { method: 'DELETE', headers })).status).toBe(200);
    expect(await messagesOf(await lost)).toEqual([]);
    expect(far.aborted).toEqual(['a']);
  });

  it('two calls of one id are both answered, each to who asked', async () => {
    await start();
    const headers = { 'mcp-session-id': await openSession() };
    const first = call('legacy', 'far__hold', 'first', { headers });
    await holds(1);
    const second = call('legacy', 'far__hold', 'second', { headers });
    await holds(2);
    far.held[1]!.release();
    expect(await answer(await second)).toMatchObject({ result: { content: [{ text: 'held second' }] } });
    far.held[0]!.release();
    expect(await answer(await first)).toMatchObject({ result: { content: [{ text: 'held first' }] } });
  });
});

describe('a request that is not plainly right is left to the SDK', () => {
  const modern = httpHeaders('modern', 'tools/call', { name: 'far__echo' });
  it.each<[string, Record<string, string | undefined>, number]>([
    ['no version header', { 'mcp-protocol-version': undefined }, 400],
    ['another version header', { 'mcp-protocol-version': '2025-11-25' }, 400],
    ['no method header', { 'mcp-method': undefined }, 400],
    ['another method header', { 'mcp-method': 'tools/list' }, 400],
    ['no name header', { 'mcp-name': undefined }, 400],
    ['another name header', { 'mcp-name': 'far__crash' }, 400],
    ['a name header that is no name', { 'mcp-name': '=?base64?!?=' }, 400],
    [
      'an encoded name header',
      { 'mcp-name': `=?base64?${Buffer.from('far__echo').toString('base64')}?=` },
      200,
    ],
  ])('%s', async (_what, change, status) => {
    await start();
    const changed = Object.entries({ ...modern, ...change }).filter(([, value]) => value !== undefined);
    const params = { name: 'far__echo', arguments: {} };
    const body = JSON.stringify(message('modern', 'tools/call', params, 1));
    const response = await rig.post(body, Object.fromEntries(changed) as Record<string, string>);
    expect(response.status).toBe(status);
    await response.text();
    expect(far.past).toEqual([]);
  });

  it.each([
    ['a revision there is not', { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' }],
    ['no capabilities', { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': undefined }],
    [
      'capabilities that are none',
      { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': { roots: 1 } },
    ],
    [
      'a client that does not say its version',
      { ...ENVELOPE, 'io.modelcontextprotocol/clientInfo': { name: 'x' } },
    ],
    ['a level there is not', { ...ENVELOPE, 'io.modelcontextprotocol/logLevel': 'loud' }],
  ])('an envelope with %s', async (_what, _meta) => {
    await start();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'far__echo', _meta } };
    for (let again = 0; again < 2; again += 1) {
      const response = await rig.post(JSON.stringify(body), modern);
      expect(response.status).toBe(400);
      await response.text();
    }
    expect(far.past).toEqual([]);
  });

  it('a legacy call with a version header there is not, or in no session', async () => {
    await start();
    const headers = { 'mcp-session-id': await openSession(), 'mcp-protocol-version': '1999-01-01' };
    expect((await call('legacy', 'far__echo', 'a', { headers })).status).toBe(400);
    expect((await call('legacy', 'far__echo', 'a', { headers: { 'mcp-session-id': 'x' } })).status).toBe(404);
    expect(far.past).toEqual([]);
  });
});

describe('a body is refused unread', () => {
  /** Sends only the head of a request, and gives what is answered to that. */
  const head = (headers: Record<string, string | number>, method = 'POST') =>
    new Promise<{ status: number; body: unknown; connection: string | undefined }>((settle, reject) => {
      const asked = httpRequest(rig.url, { method, headers }, response => {
        let text = '';
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk;
        });
        response.on('end', () => {
          const {
            statusCode = 0,
            headers: { connection },
          } = response;
          settle({ status: statusCode, body: JSON.parse(text), connection });
          asked.destroy();
        });
      });
      asked.on('error', reject).flushHeaders();
    });

  it.each([
    'text/plain',
    'application/jsonp',
    'application/x-www-form-urlencoded',
    'application/json, text/plain',
    '',
  ])('when it is said to be %j', async type => {
    await start();
    const answered = await head({ 'content-type': type, 'content-length': 100 });
    expect(answered).toMatchObject({
      status: 415,
      body: { id: null, error: { code: -32000 } },
      connection: 'close',
    });
  });

  it('when it is said to be longer than the limit', async () => {
    await start({ maxBodyBytes: 1000 });
    const answered = await head({ 'content-type': 'application/json', 'content-length': 1001 });
    expect(answered).toMatchObject({
      status: 413,
      body: { id: null, error: { code: -32000 } },
      connection: 'close',
    });
  });

  it('when nobody asks in this way', async () => {
    await start();
    const answered = await head({ 'content-type': 'application/json', 'content-length': 10 }, 'PUT');
    expect(answered).toMatchObject({ status: 405, body: { error: { message: 'Method not allowed.' } } });
  });

  it('as soon as it turns out to be longer than the limit', async () => {
    await start({ maxBodyBytes: 1000 });
    const status = await new Promise((settle, reject) => {
      const asked = httpRequest(
        rig.url,
        { method: 'POST', headers: { 'content-type': 'application/json' } },
        response => {
          response.resume();
          settle(response.statusCode);
        },
      );
      asked.on('error', reject);
      // Never ended: the answer comes without it.
      asked.write(`"${'x'.repeat(1000)}`);
    });
    expect(status).toBe(413);
  });

  it('but read in the usual ways', async () => {
    await start();
    const params = { name: 'far__echo', arguments: {} };
    const body = JSON.stringify(message('modern', 'tools/call', params, 1));
    const headers = httpHeaders('modern', 'tools/call', params);
    const named = await rig.post(body, { ...headers, 'content-type': 'Application/JSON; charset=utf-8' });
    const marked = await rig.post(`\ufeff${body}`, headers);
    expect([named.status, marked.status, far.past.length]).toEqual([200, 200, 2]);
    await Promise.all([named.text(), marked.text()]);
  });
});
