import type { lookup } from 'node:dns';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGzip, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../testing/until.ts';
import { type HttpLinkOptions, openHttpLink } from './http-link.ts';
import { guardedLookup } from './http-session.ts';
import { UpstreamFault, type UpstreamLink } from './link.ts';
import { bodyOf, refuse, serve, serveSample, type TestServer } from './testing/http-servers.ts';
import { clientInfo, listener } from './testing/stdio-rig.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  id: number;
  method: string;
}

const json = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

/** A legacy server that answers the handshake, and every other POST as the test says. */
async function given(onCall: (asked: Asked) => void, session = false): Promise<TestServer> {
  const server = await serve(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id = 0, method = '' } = await bodyOf(request);
    const serverInfo = { name: 'hand-made', version: '0' };
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo };
    if (method === 'server/discover') refuse(response, 400, -32601, 'Method not found');
    else if (method === 'initialize')
      json(response, { jsonrpc: '2.0', id, result }, session ? { 'mcp-session-id': 's1' } : {});
    else if (method.startsWith('notifications/')) response.writeHead(202).end();
    else onCall({ request, response, id, method });
  });
  closing.push(server.close);
  return server;
}

async function open(url: string, more: Partial<HttpLinkOptions> = {}): Promise<UpstreamLink> {
  const { events } = listener();
  const link = await openHttpLink({
    kind: 'http',
    url,
    headers: {},
    events,
    clientInfo,
    startTimeoutMs: 10_000,
    ...more,
  });
  closing.push(link.close);
  return link;
}

const call = (link: UpstreamLink, timeoutMs = 10_000) =>
  link.request('tools/call', { name: 'x' }, { timeoutMs });
const faultOf = (promise: Promise<unknown>): Promise<UpstreamFault> =>
  promise.then(
    () => {
      throw new Error('There was no fault.');
    },
    fault => {
      expect(fault).toBeInstanceOf(UpstreamFault);
      return fault;
    },
  );

describe('refused access', () => {
  test.each([401, 403])('fails at once with HTTP %i, and asks only once', { tags: ['R25'] }, async status => {
    const server = await serve((_request, response) => void response.writeHead(status).end('no'));
    closing.push(server.close);
    expect(await faultOf(open(server.url))).toMatchObject({ kind: 'unauthorized' });
    expect(server.asked).toHaveLength(1);
  });

  test('any more is out: the link is over', async () => {
    const server = await given(({ response }) => void response.writeHead(401).end());
    const link = await open(server.url);
    expect(await faultOf(call(link))).toMatchObject({ kind: 'unauthorized' });
    expect(await link.closed).toMatchObject({ kind: 'unauthorized' });
  });
});

describe('a server that has no time', () => {
  test.each([
    [429, '7', 7000],
    [503, new Date(Date.now() + 3_600_000).toUTCString(), null],
  ])('says with HTTP %i when to come again', { tags: ['R25'] }, async (status, retryAfter, expected) => {
    const server = await given(
      ({ response }) => void response.writeHead(status, { 'retry-after': retryAfter }).end(),
    );
    const fault = await faultOf(call(await open(server.url)));
    expect(fault.kind).toBe('transport');
    if (expected === null) expect(fault.retryAfterMs).toBeGreaterThan(3_000_000);
    else expect(fault.retryAfterMs).toBe(expected);
  });

  test('at the start has not said what it speaks: nothing more is tried', async () => {
    const server = await serve((_request, response) => void response.writeHead(503).end());
    closing.push(server.close);
    expect(await faultOf(open(server.url))).toMatchObject({ kind: 'transport' });
    expect(server.asked).toHaveLength(1);
  });
});

describe('refused addresses', () => {
  test.each([301, 302, 307, 308])('to another host, by HTTP %i', async status => {
    const elsewhere = await serve((_request, response) => void response.end());
    closing.push(elsewhere.close);
    const server = await serve(
      (_request, response) => void response.writeHead(status, { location: elsewhere.url }).end(),
    );
    closing.push(server.close);
    const headers = { authorization: 'Bearer secret' };
    expect(await faultOf(open(server.url, { headers }))).toMatchObject({
      kind: 'transport',
      message: expect.stringContaining('redirects'),
    });
    expect(elsewhere.asked).toEqual([]);
  });

  test('round and round', async () => {
    const server = await serve(
      (request, response) => void response.writeHead(307, { location: `${request.url}x` }).end(),
    );
    closing.push(server.close);
    expect(await faultOf(open(server.url))).toMatchObject({ kind: 'transport' });
    expect(server.asked.length).toBeLessThan(10);
  });

  test('to a name that is at a forbidden address, also when it moved there', {
    tags: ['requests-to-where-only-credentials-are'],
  }, async () => {
    const server = await given(({ response, id }) => json(response, { jsonrpc: '2.0', id, result: {} }));
    const { port } = new URL(server.url);
    let address = '127.0.0.1';
    const resolve = ((_name: string, _options: unknown, callback: (error: null, found: unknown) => void) =>
      callback(null, [{ address, family: 4 }])) as unknown as typeof lookup;
    const link = await open(`http://moving.test:${port}/mcp`, { lookup: guardedLookup(resolve) });
    expect(await call(link)).toEqual({});
    await link.close();
    address = '169.254.169.254';
    const again = open(`http://moving.test:${port}/mcp`, { lookup: guardedLookup(resolve) });
    expect(await faultOf(again)).toMatchObject({
      kind: 'start',
      message: expect.stringContaining('never connects to'),
    });
  });

  test('to a forbidden address, or to nobody', async () => {
    expect(await faultOf(open('http://[::ffff:a9fe:a9fe]/mcp'))).toMatchObject({ kind: 'start' });
    expect(await faultOf(open('file:///etc/passwd'))).toMatchObject({ kind: 'start' });
    const gone = await serve(() => {});
    await gone.close();
    expect(await faultOf(open(gone.url))).toMatchObject({ kind: 'start' });
  });
});

test('a redirect within the same origin is followed with the whole request', async () => {
  const server = await given(({ request, response, id }) => {
    if (request.url === '/mcp') response.writeHead(308, { location: '/mcp/' }).end();
    else json(response, { jsonrpc: '2.0', id, result: { at: request.url } });
  });
  expect(await call(await open(server.url))).toEqual({ at: '/mcp/' });
});

describe('an answer that is none', () => {
  const cases: [string, (asked: Asked) => void, string][] = [
    ['of another type', ({ response }) => void response.end('<html>'), 'neither JSON nor events'],
    [
      'broken JSON',
      ({ response }) => void response.setHeader('content-type', 'application/json').end('{"jsonrpc":'),
      'invalid JSON',
    ],
    [
      'cut off',
      ({ response }) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        response.write('{"jsonrpc":"2.0"', () => response.destroy());
      },
      'broke in the middle',
    ],
    [
      'a stream that ends without it',
      ({ response }) => void response.setHeader('content-type', 'text/event-stream').end(': nothing\n\n'),
      'without an answer',
    ],
    [
      'a stream that is none',
      ({ response }) =>
        void response.setHeader('content-type', 'text/event-stream').end('<html>\n\ndata: {"a\n\n'),
      'without an answer',
    ],
    ['a broken connection', ({ response }) => void response.destroy(), 'broke'],
    ['accepted, and nothing more', ({ response }) => void response.writeHead(202).end(), 'neither JSON'],
    [
      'to another question',
      ({ response, id }) => json(response, { jsonrpc: '2.0', id: id + 1000, result: {} }),
      'without an answer',
    ],
    [
      'in a strange encoding',
      ({ response }) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'zstd-x' })
          .end('x'),
      'encoding',
    ],
    [
      'compressed, but not really',
      ({ response }) => json(response, {}, { 'content-encoding': 'gzip' }),
      'broke in the middle',
    ],
    ['HTTP 500', ({ response }) => void response.writeHead(500).end('oh'), 'HTTP 500'],
  ];

  test.each(cases)(
    '(%s) is a fault of the connection, for that request only',
    { tags: ['R25'] },
    async (_, onCall, message) => {
      let isBad = true;
      const server = await given(asked => {
        if (isBad) onCall(asked);
        else json(asked.response, { jsonrpc: '2.0', id: asked.id, result: { well: true } });
      });
      const link = await open(server.url);
      const fault = await faultOf(call(link));
      expect(fault.kind).toBe('transport');
      expect(fault.message).toContain(message);
      isBad = false;
      expect(await call(link)).toEqual({ well: true });
    },
  );
});

test.each<[string, Parameters<typeof given>[0]]>([
  [
    'one text',
    ({ response, id }) => json(response, { jsonrpc: '2.0', id, result: { text: 'x'.repeat(9_000_000) } }),
  ],
  [
    'one event',
    ({ response }) => {
      response.setHeader('content-type', 'text/event-stream');
      response.end(`data: ${'x'.repeat(9_000_000)}\n\n`);
    },
  ],
])('an answer that is too large, as %s, is no fault of the connection', async (_, onCall) => {
  let isBad = true;
  const server = await given(asked => {
    if (isBad) onCall?.(asked);
    else json(asked.response, { jsonrpc: '2.0', id: asked.id, result: { well: true } });
  });
  const link = await open(server.url);
  expect(await faultOf(call(link))).toMatchObject({
    kind: 'answer',
    message: expect.stringContaining('8388608 bytes'),
    error: { code: -32603, message: expect.stringContaining('too large') },
  });
  isBad = false;
  expect(await call(link)).toEqual({ well: true });
});

test('a bomb of zeros is not unpacked, as one text or as an event', { tags: ['flooding'] }, async () => {
  const bomb = gzipSync(Buffer.alloc(160 * 1024 * 1024));
  let type = 'application/json';
  const server = await given(
    ({ response }) =>
      void response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(bomb),
  );
  const link = await open(server.url);
  const before = process.memoryUsage().rss;
  expect((await faultOf(call(link))).message).toContain('8388608 bytes');
  type = 'text/event-stream';
  expect((await faultOf(call(link))).message).toContain('8388608 bytes');
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
});

test('a compressed answer is read all the same', async () => {
  const server = await given(({ response, id }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    const packed = createGzip();
    packed.pipe(response);
    packed.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { packed: true } })}\n\n`);
  });
  expect(await call(await open(server.url))).toEqual({ packed: true });
});

describe('an endless stream', () => {
  const endless = (response: ServerResponse, first: string) => {
    response.setHeader('content-type', 'text/event-stream');
    response.write(first);
    const more = () => {
      while (!response.destroyed && response.write(`${': still here\n'.repeat(1000)}\n`));
    };
    response.on('drain', more);
    more();
  };

  test('without an answer ends with the time, and is left', { tags: ['flooding'] }, async () => {
    let isLeft = false;
    const server = await given(({ response }) => {
      response.on('close', () => {
        isLeft = true;
      });
      endless(response, '');
    });
    expect(await faultOf(call(await open(server.url), 500))).toMatchObject({ kind: 'timeout' });
    await until(() => isLeft, 'the stream is left');
  });

  test('after the answer is left', async () => {
    let isLeft = false;
    const server = await given(({ response, id }) => {
      response.on('close', () => {
        isLeft = true;
      });
      endless(response, `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`);
    });
    expect(await call(await open(server.url))).toEqual({});
    await until(() => isLeft, 'the stream is left');
  });
});

test('a stream with numbers that ends early is asked for the rest', async () => {
  let rest = '';
  const server = await serve(async (request, response) => {
    if (request.method === 'GET') {
      const lastId = request.headers['last-event-id'];
      if (lastId === undefined) return void response.writeHead(405).end();
      return void response.setHeader('content-type', 'text/event-stream').end(lastId === 'n1' ? rest : '');
    }
    const { id, method = '' } = await bodyOf(request);
    if (method === 'initialize')
      json(response, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: {} } });
    else if (method === 'tools/call') {
      rest = `id: n2\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { resumed: true } })}\n\n`;
      response.setHeader('content-type', 'text/event-stream').end('id: n1\nretry: 10\ndata:\n\n');
    } else response.writeHead(method.startsWith('notifications/') ? 202 : 404).end();
  });
  closing.push(server.close);
  const link = await open(server.url);
  expect(link.server).toEqual({ name: 'unnamed', version: 'unknown' });
  expect(await call(link)).toEqual({ resumed: true });
});

describe('a session', () => {
  test('is named in every request, and ended when the link is', async () => {
    const server = await given(
      ({ response, id }) => json(response, { jsonrpc: '2.0', id, result: {} }),
      true,
    );
    const headers = { authorization: 'Bearer x', 'mcp-session-id': 'forged', host: 'elsewhere' };
    const link = await open(server.url, { headers });
    await call(link);
    await link.close();
    const sessions = server.asked.map(({ method, headers: sent }) => [method, sent['mcp-session-id']]);
    expect(sessions.slice(0, 3)).toEqual([
      ['POST', undefined],
      ['POST', undefined],
      ['POST', 's1'],
    ]);
    expect(sessions.at(-1)).toEqual(['DELETE', 's1']);
    expect(server.asked.at(-1)?.headers).toMatchObject({
      authorization: 'Bearer x',
      'mcp-protocol-version': '2025-06-18',
      host: new URL(server.url).host,
    });
  });

  test('that the server has forgotten ends the link', async () => {
    const sample = await serveSample('legacy');
    closing.push(sample.close);
    const link = await open(sample.url);
    sample.forget();
    expect(await faultOf(link.request('tools/list', {}, { timeoutMs: 5000 }))).toMatchObject({
      kind: 'session',
    });
    expect((await link.closed).message).toContain('session');
  });
});

test('a server that is gone ends the link', async () => {
  const server = await given(({ response }) => void response.destroy());
  const link = await open(server.url);
  await closing.shift()?.();
  expect(await faultOf(call(link))).toMatchObject({ kind: 'transport' });
  expect(await link.closed).toMatchObject({ kind: 'transport' });
});

test('a header that cannot be sent is reported by its name, not by its value', async () => {
  const fault = await faultOf(open('http://127.0.0.1:1/mcp', { headers: { 'x-key': 'secret\nvalue' } }));
  expect(fault).toMatchObject({ kind: 'start', message: expect.stringContaining('x-key') });
  expect(fault.message).not.toContain('secret');
});
