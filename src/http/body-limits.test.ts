import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { BODY_LIMITS, type BodyLimitOptions } from './body-limits.ts';
import { type HttpServer, serveHttp } from './serve.ts';

const MIB = 1024 * 1024;
let server: HttpServer;
let sockets: Socket[] = [];
const errors: unknown[] = [];
/** Bytes that the handler has buffered. */
let buffered = 0;

async function serve(limits: Partial<BodyLimitOptions> = {}): Promise<void> {
  buffered = 0;
  server = await serveHttp({
    port: 0,
    web: { handle: async () => {}, upgrade: async () => null, close: async () => {} },
    admits: token => token.startsWith('token'),
    mcp: {
      handle: async (request, response) => {
        try {
          for await (const chunk of request) buffered += (chunk as Buffer).length;
        } catch {
          return; // cut off
        }
        response.end('read');
      },
      close: async () => {},
    },
    bodyLimits: { ...BODY_LIMITS, ...limits },
    onError: error => errors.push(error),
  });
}

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await server.close();
  expect(errors.splice(0)).toEqual([]);
});

class Client {
  text = '';
  readonly socket = connect(server.port, '127.0.0.1');
  /** Also by an error: whoever still writes when the server closes gets one. */
  readonly closed = new Promise(settle => this.socket.once('close', settle));

  constructor(head: string[], token = 'token') {
    sockets.push(this.socket);
    this.socket.setEncoding('utf8').on('data', chunk => {
      this.text += chunk;
    });
    this.socket.on('error', () => {});
    const lines = ['POST /mcp HTTP/1.1', `Host: 127.0.0.1:${server.port}`, `Authorization: Bearer ${token}`];
    this.socket.write([...lines, ...head, '', ''].join('\r\n'));
  }

  get status(): number | null {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1] ?? 0) || null;
  }

  answered = () => expect.poll(() => this.status).not.toBeNull();
}

const length = (bytes: number) => [`Content-Length: ${bytes}`];
const CHUNKED = ['Transfer-Encoding: chunked'];

/** Served in the order they came, so an answer to this one says that those before it were looked at. */
async function passed(token = 'token-other'): Promise<void> {
  const last = new Client(length(1), token);
  last.socket.write('x');
  await last.answered();
  expect(last.status).toBe(200);
}

test('of 40 bodies of 30 MB with one token two are let in, and the others are refused before a byte of them is read', {
  tags: ['request-bodies-that-fill-the-memory'],
}, async () => {
  await serve();
  const clients = Array.from({ length: 40 }, () => new Client(length(30 * MIB)));
  await expect.poll(() => clients.filter(client => client.status === 429).length).toBe(38);
  await passed();
  const refused = clients.find(client => client.status === 429)!;
  expect(refused.text).toContain('TOO_MANY_BODIES');
  expect(refused.text.toLowerCase()).toContain('retry-after: 1');
  await refused.closed;
  const [first] = clients.filter(client => client.status === null);
  first!.socket.destroy();
  await first!.closed;
  // The room of those that left is free again.
  await expect
    .poll(async () => {
      const again = new Client(length(30 * MIB));
      await passed();
      return again.status;
    })
    .toBeNull();
  expect(buffered).toBeLessThan(100);
});

test('so many bodies may be on their way at once with one token, and others have their own number', async () => {
  await serve({ perToken: { bodies: 3, bytes: MIB } });
  const slow = Array.from({ length: 3 }, () => new Client(length(10)));
  await passed();
  const beyond = new Client(length(10));
  await beyond.answered();
  expect([beyond.status, beyond.text.includes('TOO_MANY_BODIES')]).toEqual([429, true]);
  for (const { socket } of slow) socket.write('0123456789');
  for (const client of slow) await client.answered();
  expect(slow.map(client => client.status)).toEqual([200, 200, 200]);
  await passed('token');
});

test('all tokens together have a limit', { tags: ['request-bodies-that-fill-the-memory'] }, async () => {
  await serve({ all: { bodies: 2, bytes: MIB } });
  for (const token of ['token-a', 'token-b']) void new Client(length(10), token);
  const beyond = new Client(length(10), 'token-c');
  await expect
    .poll(() => beyond.status ?? new Client(length(10), 'token-c').status, { interval: 20 })
    .toBe(429);
});

test('a body that declares no size is cut off where it is too much', {
  tags: ['request-bodies-that-fill-the-memory'],
}, async () => {
  await serve({ perToken: { bodies: 3, bytes: 100_000 } });
  const client = new Client(CHUNKED);
  const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
  for (let sent = 0; sent < 60 && !client.socket.destroyed; sent++) client.socket.write(chunk);
  await client.closed;
  expect([client.status, client.text.includes('TOO_MANY_BODIES')]).toEqual([429, true]);
  expect(buffered).toBeLessThanOrEqual(100_000);
  const small = new Client(CHUNKED);
  small.socket.write('2\r\nxx\r\n0\r\n\r\n');
  await small.answered();
  expect(small.status).toBe(200);
});

test('a body that was there before its sender was admitted is not waited for, however long the answer takes', async () => {
  let isAnswered = false;
  const late = await serveHttp({
    port: 0,
    web: { handle: async () => {}, upgrade: async () => null, close: async () => {} },
    admits: () => new Promise(settle => setTimeout(() => settle(true), 50)),
    mcp: {
      handle: async (request, response) => {
        for await (const _chunk of request);
        await new Promise(settle => setTimeout(settle, 200));
        isAnswered = true;
        response.end('read');
      },
      close: async () => {},
    },
    bodyLimits: { ...BODY_LIMITS, timeoutMs: 20 },
  });
  const answer = await fetch(`http://127.0.0.1:${late.port}/mcp`, {
    method: 'POST',
    headers: { authorization: 'Bearer token', 'content-type': 'application/json' },
    body: '{}',
  });
  expect([answer.status, await answer.text(), isAnswered]).toEqual([200, 'read', true]);
  await late.close();
});

test('a body that drips in is given up, and its connection closed', {
  tags: ['request-bodies-that-fill-the-memory'],
}, async () => {
  await serve({ timeoutMs: 100 });
  const client = new Client(length(10_000));
  const drip = setInterval(() => client.socket.write('x'), 5);
  await client.closed.finally(() => clearInterval(drip));
  expect([client.status, client.text.includes('BODY_TOO_SLOW')]).toEqual([408, true]);
  await passed('token');
});
