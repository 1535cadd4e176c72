import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { figure } from '../../test/faults/figures.ts';
import { type HttpServer, serveHttp } from './serve.ts';

const TOKEN = 'a-token-of-this-test';
let server: HttpServer;
let reached = 0;

async function startServer(): Promise<HttpServer & AsyncDisposable> {
  const started = await serveHttp({
    port: 0,
    admits: token => token === TOKEN,
    mcp: { handle: letIn, close: async () => {} },
    web: {
      handle: letIn,
      upgrade: async (_request, socket) => {
        reached += 1;
        socket.end('reached');
        return null;
      },
      close: async () => {},
    },
  });
  return { ...started, [Symbol.asyncDispose]: () => started.close() };
}

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

async function letIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  reached += 1;
  request.resume();
  response.end('reached');
}

/** Sends exactly these lines, and a body only in name: whoever waited for it would never answer. */
const ask = (...lines: string[]) => askAt(server, ...lines);

async function askAt(at: HttpServer, ...lines: string[]): Promise<{ status: number; text: string }> {
  const socket = connect(at.port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', chunk => {
    text += chunk;
    if (text.includes('reached')) socket.destroy();
  });
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  const sent = [...lines, '', ''].join('\r\n').replaceAll('PAGE', at.hosts.web);
  socket.write(sent.replaceAll('PORT', String(at.port)));
  await closed;
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

const POST = 'POST /mcp HTTP/1.1';
const OWN = 'Host: 127.0.0.1:PORT';
const BEARER = `Authorization: Bearer ${TOKEN}`;
const BODY = ['Content-Type: application/json', 'Content-Length: 100'];

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
];

/** Every kind of door there is, as a request that would be let in. */
const DOORS: [what: string, host: string, line: string, ...headers: string[]][] = [
  ['MCP', '127.0.0.1:PORT', POST, BEARER, ...BODY],
  ['a question of the REST API', '127.0.0.1:PORT', 'GET /api/hub HTTP/1.1', BEARER],
  ['a deed of the REST API', '127.0.0.1:PORT', 'POST /api/cancel HTTP/1.1', BEARER, ...BODY],
  ['a question of the web UI', 'PAGE', 'GET /api/hub HTTP/1.1', BEARER],
  ['a ticket', '127.0.0.1:PORT', 'POST /api/ticket HTTP/1.1', BEARER, ...BODY],
  ['a download', '127.0.0.1:PORT', 'GET /api/download?ticket=t HTTP/1.1'],
  ['a download of the web UI', 'PAGE', 'GET /api/download?ticket=t HTTP/1.1'],
  ['a key', 'PAGE', 'POST /api/session HTTP/1.1', ...BODY],
  ['a proof', 'PAGE', 'GET /api/proof?nonce=n HTTP/1.1'],
  ['the page', 'PAGE', 'GET / HTTP/1.1'],
  ['a file of the page', 'PAGE', 'GET /assets/main.js HTTP/1.1'],
  ['the head of the page', 'PAGE', 'HEAD /inbox HTTP/1.1', 'Connection: close'],
  ['the live feed', '127.0.0.1:PORT', 'GET /api/live?ticket=t HTTP/1.1', ...UPGRADE],
  ['the live feed of the web UI', 'PAGE', 'GET /api/live?ticket=t HTTP/1.1', ...UPGRADE],
];

const HOSTS = [
  'squad-0123456789abcdef0123.localhost:PORT',
  'x.PAGE',
  'PAGE.evil.example',
  'PAGE0',
  'squad.localhost:PORT',
  'evil.localhost:PORT',
  'evil.example',
  'evil.example:PORT',
  'localhost.evil.example',
  'localhost.evil.example:PORT',
  '127.0.0.1.evil.example:PORT',
  '127.0.0.1.nip.io:PORT',
  '[::1].evil:PORT',
  '[::1]evil:PORT',
  'evil@127.0.0.1:PORT',
  '127.0.0.1:PORT@evil.example',
  '127.0.0.1:PORT.evil.example',
  '127.0.0.1:PORT, evil.example',
  '127.0.0.1:PORT 127.0.0.1:PORT',
  '127.0.0.1:PORT/',
  'http://127.0.0.1:PORT',
  '127.0.0.1',
  'localhost',
  '[::1]',
  '127.0.0.1:1',
  'localhost:80',
  '127.0.0.1:',
  '127.0.0.1:0PORT',
  '127.0.0.1:PORT0',
  '0.0.0.0:PORT',
  '0:PORT',
  '127.1:PORT',
  '127.0.1:PORT',
  '127.0.0.2:PORT',
  '2130706433:PORT',
  '0x7f000001:PORT',
  '0177.0.0.1:PORT',
  '::1:PORT',
  '[0:0:0:0:0:0:0:1]:PORT',
  '[::ffff:127.0.0.1]:PORT',
  '[::]:PORT',
  'LOCALHOST:PORT',
  'localhost.:PORT',
  'null',
  '',
  '\tlocalhost :PORT',
];

const ORIGINS = [
  'null',
  '',
  'http://evil.example',
  'https://evil.example',
  'http://evil.example:PORT',
  'http://localhost.evil.example:PORT',
  'http://127.0.0.1.evil.example:PORT',
  'http://[::1].evil:PORT',
  'http://127.0.0.1',
  'http://localhost',
  'http://127.0.0.1:1',
  'https://127.0.0.1:PORT',
  'http://127.0.0.1:PORT/',
  'http://127.0.0.1:PORT/mcp',
  'http://127.0.0.1:PORT@evil.example',
  'http://127.0.0.1:PORT, http://evil.example',
  'http://127.0.0.1:PORT http://evil.example',
  'HTTP://127.0.0.1:PORT',
  '127.0.0.1:PORT',
  '//127.0.0.1:PORT',
  'file://',
  'chrome-extension://abcdefghijklmnop',
  'vscode-webview://x',
  '*',
];

test('there are more than forty Hosts and Origins that are not ours', { tags: ['R28'] }, () => {
  const all = new Set([...HOSTS, ...ORIGINS.map(origin => `Origin: ${origin}`)]);
  expect(all.size).toBeGreaterThanOrEqual(40);
  figure('R28', {
    reached: all.size,
    of: 40,
    told: `foreign Hosts and Origins, none let in by ${DOORS.length} doors`,
  });
});

describe.each(DOORS)('%s', (_what, own, line, ...headers) => {
  test('is open to our own page', async () => {
    const before = reached;
    await ask(line, `Host: ${own}`, `Origin: http://${own}`, ...headers);
    expect(reached).toBe(before + 1);
  });

  test('is closed to every Host that is not ours', {
    tags: ['dns-rebinding-and-foreign-origins'],
  }, async () => {
    const before = reached;
    for (const host of HOSTS) {
      const { status } = await ask(line, `Host: ${host}`, ...headers);
      expect([403, 400], host).toContain(status);
    }
    expect(reached).toBe(before);
  });

  test('is closed to pages of other sites, and nothing tells them that they may look', {
    tags: ['cross-site-requests-to-a-page-of-ours', 'cross-site-websocket-hijack'],
  }, async () => {
    const before = reached;
    for (const origin of [
      'null',
      '',
      'http://evil.example',
      'http://127.0.0.1:1',
      `https://${own}`,
      // Another origin of ours: whatever runs there is not what we served here.
      own === 'PAGE' ? 'http://127.0.0.1:PORT' : 'http://PAGE',
      'http://localhost:PORT',
    ]) {
      const { status, text } = await ask(line, `Host: ${own}`, `Origin: ${origin}`, ...headers);
      expect(status, origin).toBe(403);
      expect(text.toLowerCase()).not.toContain('access-control');
    }
    expect(reached).toBe(before);
  });
});

const ofPage = DOORS.filter(([what]) => /^(a key|a proof|the page|a file|the head)/.test(what));

test.each(ofPage)(
  '%s is only where the web UI is, not at an address of the port',
  async (_what, _own, ...rest) => {
    const before = reached;
    for (const host of ['127.0.0.1:PORT', 'localhost:PORT', '[::1]:PORT'])
      expect([401, 404], host).toContain((await ask(rest[0]!, `Host: ${host}`, ...rest.slice(1))).status);
    expect(reached).toBe(before);
  },
);

test('MCP is not where the web UI is', async () => {
  const before = reached;
  expect((await ask(POST, 'Host: PAGE', BEARER, ...BODY)).status).toBe(404);
  expect(reached).toBe(before);
});

describe('a browser that looks for the web UI where it is not', () => {
  const gone = 'squad-0123456789abcdef0123.localhost:PORT';
  const NAVIGATE = 'Sec-Fetch-Mode: navigate';

  test.each([
    ['at an address of the port', '127.0.0.1:PORT', 404],
    ['at the name of a hub that has ended', gone, 403],
  ])('%s gets the command to type, and clears its storage there', async (_where, host, status) => {
    const answer = await ask('GET /inbox HTTP/1.1', `Host: ${host}`, NAVIGATE);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(/^content-type: text\/plain/im);
    expect(answer.text).toMatch(/^clear-site-data: "storage"/im);
    expect(answer.text).toContain('squad open');
    const worker = await ask(
      'GET /w.js HTTP/1.1',
      `Host: ${host}`,
      'Sec-Fetch-Mode: same-origin',
      'Service-Worker: script',
    );
    expect([worker.status, worker.text]).toEqual([
      status,
      expect.stringMatching(/^clear-site-data: "storage"/im),
    ]);
    const script = await ask('GET /api/proof?nonce=n HTTP/1.1', `Host: ${host}`, 'Sec-Fetch-Mode: cors');
    expect(script.text).not.toMatch(/clear-site-data/i);
  });

  test('is shown nothing and told nothing at any other name', async () => {
    const { status, text } = await ask('GET / HTTP/1.1', 'Host: evil.example:PORT', NAVIGATE);
    expect([status, text]).toEqual([403, expect.not.stringMatching(/clear-site-data|text\/plain/i)]);
  });
});

test('the web UI is at 127.0.0.1 once it is asked for there, and only there', async () => {
  await using other = await startServer();
  const status = async (host: string) =>
    (await askAt(other, 'GET / HTTP/1.1', `Host: ${host}`, 'Connection: close')).text.includes('reached');
  expect(await status('127.0.0.1:PORT')).toBe(false);
  expect(other.hosts.openAtAddress()).toBe(`127.0.0.1:${other.port}`);
  expect(await status('127.0.0.1:PORT')).toBe(true);
  expect(await status('PAGE')).toBe(true);
  for (const host of ['localhost:PORT', '[::1]:PORT']) expect(await status(host)).toBe(false);
});

test('every hub has a name of its own for the web UI', async () => {
  await using other = await startServer();
  expect(other.hosts.web).toMatch(/^squad-[0-9a-f]{20}\.localhost:\d+$/);
  expect(other.hosts.web.split(':')[0]).not.toBe(server.hosts.web.split(':')[0]);
});

test.each(['/mcp', '/api/hub', '/api/cancel', '/api/ticket', '/api/live', '/'])(
  'asking beforehand (OPTIONS %s) is refused, from another site and from our own',
  { tags: ['cross-site-requests-to-a-page-of-ours', 'dns-rebinding-and-foreign-origins'] },
  async path => {
    const before = reached;
    const preflight = [
      'Access-Control-Request-Method: POST',
      'Access-Control-Request-Headers: authorization',
    ];
    for (const [origin, wanted] of [
      ['http://evil.example', 403],
      ['http://127.0.0.1:PORT', 401],
    ] as const) {
      const { status, text } = await ask(`OPTIONS ${path} HTTP/1.1`, OWN, `Origin: ${origin}`, ...preflight);
      expect(status).toBe(wanted);
      expect(text.toLowerCase()).not.toContain('access-control');
    }
    expect(reached).toBe(before);
  },
);

test.each([
  ['of MCP', 'GET /mcp HTTP/1.1'],
  ['of a file', 'GET / HTTP/1.1'],
  ['of another path of the API', 'GET /api/hub HTTP/1.1'],
  ['by POST', 'POST /api/live HTTP/1.1'],
])('an upgrade %s becomes no WebSocket', async (_what, line) => {
  const { text } = await ask(line, OWN, ...UPGRADE);
  expect(text).not.toMatch(/^reached/);
  expect(text).not.toMatch(/^HTTP\/1\.1 101/);
});

test('another protocol is not what the live feed is upgraded to', async () => {
  const { text } = await ask('GET /api/live?ticket=t HTTP/1.1', OWN, 'Connection: Upgrade', 'Upgrade: h2c');
  expect(text).toMatch(/^HTTP\/1\.1 (200|400)/);
});

describe('a request that is not meant for us is refused before its body comes, with the token and all', {
  tags: ['dns-rebinding-and-foreign-origins'],
}, () => {
  test.each(HOSTS)('Host: %s', async host => {
    const before = reached;
    const { status } = await ask(POST, `Host: ${host}`, BEARER, ...BODY);
    expect([403, 400]).toContain(status);
    expect(reached).toBe(before);
  });

  test.each([
    ['two Hosts, ours first', POST, OWN, 'Host: evil.example'],
    ['two Hosts, ours last', POST, 'Host: evil.example', OWN],
    ['our Host twice', POST, OWN, OWN],
    ['no Host', POST],
    ['no Host in HTTP/1.0', 'POST /mcp HTTP/1.0'],
    ['a host in the request line', 'POST http://evil.example/mcp HTTP/1.1', OWN],
    ['our own in the request line', 'POST http://127.0.0.1:PORT/mcp HTTP/1.1', OWN],
    ['a host in a path without a scheme', 'POST evil.example/mcp HTTP/1.1', OWN],
    ['no path', 'OPTIONS * HTTP/1.1', OWN],
    ['a Host folded over two lines', POST, 'Host:', ' 127.0.0.1:PORT', ' evil.example'],
    ['a Host with a space before the colon', POST, 'Host : 127.0.0.1:PORT'],
  ])('%s', async (_what, ...lines) => {
    const before = reached;
    const { status } = await ask(...lines, BEARER, ...BODY);
    expect([403, 400]).toContain(status);
    expect(reached).toBe(before);
  });

  test.each(ORIGINS)('Origin: %s', async origin => {
    const before = reached;
    const { status, text } = await ask(POST, OWN, `Origin: ${origin}`, BEARER, ...BODY);
    expect([status, text.includes('ORIGIN_REFUSED')]).toEqual([403, true]);
    expect(reached).toBe(before);
  });

  test.each([
    ['ours twice', 'http://127.0.0.1:PORT', 'http://127.0.0.1:PORT'],
    ['ours first', 'http://127.0.0.1:PORT', 'http://evil.example'],
    ['ours last', 'null', 'http://127.0.0.1:PORT'],
  ])('two Origins, %s', async (_what, first, second) => {
    const { status } = await ask(POST, OWN, `Origin: ${first}`, `Origin: ${second}`, BEARER, ...BODY);
    expect(status).toBe(403);
  });

  test('a client that asks whether to send a body is not told to continue', {
    tags: ['dns-rebinding-and-foreign-origins'],
  }, async () => {
    const { text } = await ask(POST, 'Host: evil.example', BEARER, ...BODY, 'Expect: 100-continue');
    expect(text).toMatch(/^HTTP\/1\.1 403/);
  });
});

describe.each([
  POST,
  'GET /mcp HTTP/1.1',
  'POST /api/cancel HTTP/1.1',
  'POST /api/ticket HTTP/1.1',
  'GET /api/hub HTTP/1.1',
  'GET /api HTTP/1.1',
  'HEAD /api/hub HTTP/1.1',
  'POST /api/download?ticket=t HTTP/1.1',
  'HEAD /api/download?ticket=t HTTP/1.1',
])('without its one token it is refused before its body comes: %s', line => {
  test.each([
    ['none'],
    ['an empty one', 'Authorization:'],
    ['only the word', 'Authorization: Bearer'],
    ['only the word and a space', 'Authorization: Bearer '],
    ['a wrong one', 'Authorization: Bearer wrong'],
    ['a longer one', `Authorization: Bearer ${TOKEN}x`],
    ['a shorter one', `Authorization: Bearer ${TOKEN.slice(0, -1)}`],
    ['it without a scheme', `Authorization: ${TOKEN}`],
    ['Basic', `Authorization: Basic ${Buffer.from(`squad:${TOKEN}`).toString('base64')}`],
    ['it as Basic', `Authorization: Basic ${TOKEN}`],
    ['it twice in one', `Authorization: Bearer ${TOKEN}, Bearer ${TOKEN}`],
    ['two headers', BEARER, BEARER],
    ['two headers, the right one first', BEARER, 'Authorization: Bearer wrong'],
    ['two headers, the right one last', 'Authorization: Bearer wrong', BEARER],
    ['it in another header', `Proxy-Authorization: Bearer ${TOKEN}`],
    ['it in a cookie', `Cookie: authorization=${TOKEN}`],
  ])('%s', async (_what, ...headers) => {
    const before = reached;
    const { status, text } = await ask(line, OWN, ...headers, ...BODY);
    expect([status, text.includes('TOKEN_WRONG') || line.startsWith('HEAD')]).toEqual([401, true]);
    expect(text.toLowerCase()).toContain('www-authenticate: bearer');
    expect(reached).toBe(before);
  });
});

describe('a token elsewhere is none', () => {
  test('a token in the address', async () => {
    const line = `POST /mcp?token=${TOKEN}&access_token=${TOKEN}&authorization=Bearer%20${TOKEN} HTTP/1.1`;
    expect((await ask(line, OWN, ...BODY)).status).toBe(401);
  });

  test('before it learns which paths there are', async () => {
    expect((await ask('POST /secret HTTP/1.1', OWN, ...BODY)).status).toBe(401);
    expect((await ask('POST /secret HTTP/1.1', OWN, BEARER, ...BODY)).status).toBe(404);
  });
});

test.each(['127.0.0.1:PORT', 'localhost:PORT', '[::1]:PORT'])(
  'from %s, with the token, it is let in',
  async host => {
    const before = reached;
    await ask(POST, `Host: ${host}`, `Origin: http://${host}`, BEARER, ...BODY);
    const { text } = await ask(POST, `Host: ${host}`, BEARER, ...BODY, 'Expect: 100-continue');
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue/);
    expect(reached).toBe(before + 2);
  },
);
