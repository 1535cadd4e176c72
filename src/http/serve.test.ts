import { once } from 'node:events';
import { type IncomingHttpHeaders, request, type ServerResponse } from 'node:http';
import { connect, Server, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { type HttpServer, serveHttp } from './serve.ts';

const TOKEN = 'a-token-of-this-test';
const NO_WEB = { handle: async () => {}, upgrade: async () => null, close: async () => {} };

async function withServer(use: (server: HttpServer) => Promise<void>): Promise<void> {
  const server = await serveHttp({
    port: 0,
    web: NO_WEB,
    admits: token => token === TOKEN,
    mcp: {
      handle: async (_request, response) => void response.end('reached'),
      close: async () => {},
    },
  });
  await use(server).finally(() => server.close());
}

function ask(port: number, path: string, headers: Record<string, string>) {
  return new Promise<{ status: number; body: string; headers: IncomingHttpHeaders }>((settle, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers }, response => {
      let body = '';
      response.setEncoding('utf8').on('data', chunk => {
        body += chunk;
      });
      response.on('end', () => settle({ status: response.statusCode ?? 0, body, headers: response.headers }));
    });
    asked.on('error', reject).end();
  });
}

const refusal = ({ body }: { body: string }) => JSON.parse(body).error as { code: string; message: string };

test('a request with the token reaches MCP', { tags: ['D9'] }, async () => {
  await withServer(async ({ port }) => {
    const answer = await ask(port, '/mcp', { authorization: `Bearer ${TOKEN}` });
    expect(answer).toMatchObject({ status: 200, body: 'reached' });
  });
});

test('an idle connection stays open longer than the announced keep-alive, so that no request meets its end', async () => {
  const heard: Socket[] = [];
  const listening = vi.spyOn(Server.prototype, 'listen');
  await withServer(async ({ port }) => {
    const server = listening.mock.contexts[0] as Server;
    server.on('connection', socket => heard.push(socket));
    const headers = { authorization: `Bearer ${TOKEN}`, connection: 'keep-alive' };
    const answer = await ask(port, '/mcp', headers);
    expect(answer.headers['keep-alive']).toBe('timeout=40');
    await expect.poll(() => heard[0]!.timeout).toBe(50_000);
    heard[0]!.destroy();
  });
});

test('without the right token it is refused, and told in full how to send one', async () => {
  await withServer(async ({ port }) => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
      const answer = await ask(port, '/mcp', headers);
      expect(answer.status).toBe(401);
      expect(refusal(answer).code).toBe('TOKEN_WRONG');
      expect(refusal(answer).message).toContain('"Authorization: Bearer …"');
      expect(refusal(answer).message).toContain('squad hub status');
    }
  });
});

test.each([
  ['another scheme', { authorization: `Basic ${TOKEN}` }, '/mcp'],
  ['two of them', { authorization: [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`] }, '/mcp'],
  ['one with a word after it', { authorization: `Bearer ${TOKEN} x` }, '/mcp'],
  ['one in the address', {}, `/mcp?token=${TOKEN}&access_token=${TOKEN}`],
  ['one in a cookie', { cookie: `token=${TOKEN}` }, '/mcp'],
])('a token shown in the wrong way is none: %s', async (_, headers, path) => {
  await withServer(async ({ port }) => {
    const answer = await ask(port, path, headers as Record<string, string>);
    expect([answer.status, refusal(answer).code]).toEqual([401, 'TOKEN_WRONG']);
  });
});

test.each([
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1',
  '0.0.0.0',
  '2130706433',
  '[::1].evil',
])('the Host %j is not ours', async host => {
  await withServer(async ({ port }) => {
    const authorization = `Bearer ${TOKEN}`;
    for (const named of [host, `${host}:${port + 1}`]) {
      const answer = await ask(port, '/mcp', { authorization, host: named });
      expect([answer.status, refusal(answer).code]).toEqual([403, 'HOST_REFUSED']);
    }
  });
});

test.each([
  'null',
  '',
  'http://127.0.0.1',
  'http://localhost:1',
  'https://127.0.0.1',
  'http://127.0.0.1@evil.example',
])('the Origin %j is not ours', async origin => {
  await withServer(async ({ port }) => {
    const answer = await ask(port, '/mcp', { authorization: `Bearer ${TOKEN}`, origin });
    expect([answer.status, refusal(answer).code]).toEqual([403, 'ORIGIN_REFUSED']);
  });
});

test('a foreign Host or Origin is refused even with the token', async () => {
  await withServer(async ({ port }) => {
    const authorization = `Bearer ${TOKEN}`;
    const rebound = await ask(port, '/mcp', { authorization, host: `evil.example:${port}` });
    expect([rebound.status, refusal(rebound).code]).toEqual([403, 'HOST_REFUSED']);
    const page = await ask(port, '/mcp', { authorization, origin: 'https://evil.example' });
    expect([page.status, refusal(page).code]).toEqual([403, 'ORIGIN_REFUSED']);
  });
});

test('another path is not found', async () => {
  await withServer(async ({ port }) => {
    const answer = await ask(port, '/mcp/x', { authorization: `Bearer ${TOKEN}` });
    expect([answer.status, refusal(answer).code]).toEqual([404, 'NOT_FOUND']);
  });
});

test('an admitted request is counted until its answer has ended; a refused one is not', async () => {
  const counts: number[] = [];
  const held: { end(): void }[] = [];
  const server = await serveHttp({
    port: 0,
    web: NO_WEB,
    admits: token => token === TOKEN,
    onOpen: count => counts.push(count),
    mcp: { handle: async (_request, response) => void held.push(response), close: async () => {} },
  });
  await ask(server.port, '/mcp', {});
  const answers = [1, 2].map(() => ask(server.port, '/mcp', { authorization: `Bearer ${TOKEN}` }));
  await expect.poll(() => held.length === 2).toBe(true);
  for (const response of held) response.end();
  await Promise.all(answers);
  await expect.poll(() => counts.length === 4).toBe(true);
  expect(counts).toEqual([1, 2, 1, 0]);
  await server.close();
});

test('a bug in the handler is an answer without its details, and is reported', async () => {
  const errors: unknown[] = [];
  const bug = new Error('secret detail');
  const server = await serveHttp({
    port: 0,
    web: NO_WEB,
    admits: token => token === TOKEN,
    onError: error => errors.push(error),
    mcp: { handle: () => Promise.reject(bug), close: async () => {} },
  });
  const answer = await ask(server.port, '/mcp', { authorization: `Bearer ${TOKEN}` });
  expect([answer.status, refusal(answer).code]).toEqual([500, 'INTERNAL']);
  expect(answer.body).not.toContain('secret detail');
  expect(errors).toEqual([bug]);
  await server.close();
});

test('closing does not wait for an answer that never ends', async () => {
  let isOpen = false;
  const server = await serveHttp({
    port: 0,
    web: NO_WEB,
    admits: token => token === TOKEN,
    onOpen: count => {
      isOpen ||= count === 1;
    },
    mcp: { handle: async (_request, response) => void response.write('…'), close: async () => {} },
  });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const cut = new Promise(settle => {
    const asked = request({ host: '127.0.0.1', port: server.port, path: '/mcp', headers }, response =>
      response.on('error', settle),
    );
    asked.on('error', settle).end();
  });
  await expect.poll(() => isOpen).toBe(true);
  await server.close();
  expect(await cut).toMatchObject({ code: 'ECONNRESET' });
});

test.each([
  ['that was refused', async () => ({ status: 401, code: 'TICKET_WRONG', message: 'no' })],
  ['that nobody has answered yet', () => new Promise<null>(() => {})],
])('closing does not wait for an upgrade %s, whatever its client keeps open', async (_what, upgrade) => {
  const upgrades = vi.fn(upgrade);
  const server = await serveHttp({
    port: 0,
    web: { ...NO_WEB, upgrade: upgrades },
    admits: () => false,
    mcp: { handle: async () => {}, close: async () => {} },
  });
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {}).resume();
  const head = ['GET /api/live?ticket=x HTTP/1.1', `Host: 127.0.0.1:${server.port}`];
  socket.write([...head, 'Connection: Upgrade', 'Upgrade: websocket', '', ''].join('\r\n'));
  await expect.poll(() => upgrades.mock.calls.length === 1).toBe(true);
  const isClosed = server.close().then(() => true);
  const patience = new Promise<boolean>(settle => setTimeout(() => settle(false), 5_000).unref());
  expect(await Promise.race([isClosed, patience])).toBe(true);
  socket.destroy();
});

test('a refused upgrade is let go, though its client keeps its half', async () => {
  await withServer(async ({ port }) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {}).resume();
    const lines = [
      'GET /api/live HTTP/1.1',
      'Host: evil.example',
      'Connection: Upgrade',
      'Upgrade: websocket',
    ];
    socket.write([...lines, '', ''].join('\r\n'));
    await once(socket, 'end');
    // A write to a closed connection is answered with a reset.
    const gone = new Promise(settle => socket.once('close', settle));
    const speaking = setInterval(() => socket.write('still there?'), 10);
    await gone;
    clearInterval(speaking);
  });
});

test.each([
  ['a foreign host', '/mcp', { host: 'evil.example' }],
  ['no token', '/api/hub', {}],
  ['a place that is not there', '/mcp/x', { authorization: `Bearer ${TOKEN}` }],
  ['a bug', '/api/hub', { authorization: `Bearer ${TOKEN}` }],
])('every refusal has the same shape and the same headers: %s', async (_what, path, headers) => {
  const server = await serveHttp({
    port: 0,
    web: { ...NO_WEB, handle: () => Promise.reject(new Error('a bug')) },
    admits: token => token === TOKEN,
    mcp: { handle: async () => {}, close: async () => {} },
  });
  const heard = await ask(server.port, path, headers as Record<string, string>);
  expect(Object.keys(refusal(heard)).sort()).toEqual(['code', 'details', 'kind', 'message', 'suggestions']);
  expect(heard.headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'cross-origin-resource-policy': 'same-origin',
    'content-type': 'application/json',
  });
  await server.close();
});

/** Everything that comes back for these bytes until the connection is closed. */
/**
 * Opens connections that send the beginning of a request. Each must send something: while its queue is full, the kernel
 * forgets a client that only connected.
 */
async function openUnfinished(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let at = 0; at < count; at++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('POST /mcp HTTP/1.1\r\nHost: x');
    sockets.push(socket);
    if (at % 100 === 0) await once(socket, 'connect');
  }
  return sockets;
}

async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  socket.setEncoding('utf8').on('data', chunk => {
    heard += chunk;
  });
  socket.on('error', () => {}).write(text);
  await once(socket, 'close');
  return heard;
}

const HEAD = `Host: HOST\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n`;

test.each([
  ['a long address', `GET /mcp?${'x'.repeat(20_000)} HTTP/1.1\r\n${HEAD}\r\n`, 431, 'MESSAGE_TOO_LARGE'],
  ['a long header', `GET /mcp HTTP/1.1\r\n${HEAD}X: ${'x'.repeat(60_000)}\r\n\r\n`, 431, 'MESSAGE_TOO_LARGE'],
  ['another protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'INVALID_INPUT'],
  ['a header without a name', `GET /mcp HTTP/1.1\r\n${HEAD}: x\r\n\r\n`, 400, 'INVALID_INPUT'],
  [
    'two lengths',
    `POST /mcp HTTP/1.1\r\n${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`,
    400,
    'INVALID_INPUT',
  ],
  ['no host', `GET /mcp HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`, 403, 'HOST_REFUSED'],
  ['an expectation', `POST /mcp HTTP/1.1\r\n${HEAD}Expect: 200-ok\r\n\r\n`, 417, 'INVALID_INPUT'],
])(
  'a request that Node itself would refuse gets a code: %s',
  { tags: ['R27'] },
  async (_what, text, status, code) => {
    await withServer(async ({ port }) => {
      const heard = await sendRaw(port, text.replace('HOST', `127.0.0.1:${port}`));
      const head = heard.split('\r\n\r\n')[0];
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).toContain('x-content-type-options: nosniff');
      expect(refusal({ body: /{.*}/.exec(heard)![0] })).toMatchObject({ code, message: expect.any(String) });
    });
  },
);

test('a broken request in the middle of another answer closes the connection without a second answer', async () => {
  const server = await serveHttp({
    port: 0,
    web: NO_WEB,
    admits: token => token === TOKEN,
    mcp: { handle: async (_request, response) => void response.write('begun'), close: async () => {} },
  });
  const host = `127.0.0.1:${server.port}`;
  const socket = connect(server.port, '127.0.0.1');
  let heard = '';
  socket.setEncoding('utf8').on('error', () => {});
  socket.on('data', chunk => {
    heard += chunk;
  });
  socket.write(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  await expect.poll(() => heard.includes('begun')).toBe(true);
  socket.write('nonsense\r\n\r\n');
  await once(socket, 'close');
  expect(heard.match(/HTTP\/1\.1/g)).toHaveLength(1);
  await server.close();
});

test('connections that say nothing keep nobody out, however many there are', { tags: ['S6'] }, async () => {
  await withServer(async ({ port }) => {
    const sockets = await openUnfinished(port, 2_000);
    const answer = await ask(port, '/mcp', { authorization: `Bearer ${TOKEN}` });
    expect(answer).toMatchObject({ status: 200, body: 'reached' });
    const closed = () => sockets.filter(socket => socket.closed).length;
    await expect.poll(() => closed()).toBeGreaterThanOrEqual(2_000 - 1_024);
    for (const socket of sockets) socket.destroy();
  });
});

test('a connection that has shown a token stays, whoever comes after it', { tags: ['S6'] }, async () => {
  const held: ServerResponse[] = [];
  const server = await serveHttp({
    port: 0,
    web: NO_WEB,
    admits: token => token === TOKEN,
    mcp: { handle: async (_request, response) => void held.push(response), close: async () => {} },
  });
  try {
    const answer = ask(server.port, '/mcp', { authorization: `Bearer ${TOKEN}` });
    await expect.poll(() => held).toHaveLength(1);
    const sockets = await openUnfinished(server.port, 1_100);
    await expect.poll(() => sockets.some(({ closed }) => closed)).toBe(true);
    held[0]!.end('late');
    expect(await answer).toMatchObject({ status: 200, body: 'late' });
    for (const socket of sockets) socket.destroy();
  } finally {
    await server.close();
  }
});
