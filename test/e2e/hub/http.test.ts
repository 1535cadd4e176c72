import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ MCP_LOG_LEVEL: 'debug' });
let url: URL;
let token: string;

beforeAll(async () => {
  // A request brings no environment: what it does not say comes from the user's own file.
  const config = join(squad.root, 'user', '.config', 'squad');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ engine: 'scripted' }));
  url = await startedUrl(squad);
  token = readFileSync(join(squad.home, 'token'), 'utf8').trim();
});
afterAll(() => squad[Symbol.asyncDispose]());

async function startedUrl(of: TestSquad, env: Record<string, string> = {}): Promise<URL> {
  const found = await until('the port is bound', async () => {
    const status = await of.json<{ url: string | null }>(['hub', 'start'], { env });
    return status.url;
  });
  return new URL(found);
}

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

/** Not fetch: it does not let a test choose Host and Origin. */
function ask(
  path: string,
  {
    method = 'POST',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: url.port, path, method, headers }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: text }),
      );
    });
    sent.on('error', reject).end(body);
  });
}

const authorization = () => ({ authorization: `Bearer ${token}` });
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

async function connect(modern: boolean, headers: Record<string, string>): Promise<Client> {
  const client = new Client(
    { name: 'http', version: '1' },
    { versionNegotiation: { mode: modern ? { pin: '2026-07-28' } : 'legacy' } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { ...authorization(), ...headers } } }),
  );
  return client;
}

describe('access to the port', () => {
  test.each([
    { title: 'no token', headers: {}, status: 401, code: 'TOKEN_WRONG' },
    {
      title: 'a wrong token',
      headers: { authorization: 'Bearer nonsense' },
      status: 401,
      code: 'TOKEN_WRONG',
    },
    { title: 'an empty token', headers: { authorization: 'Bearer ' }, status: 401, code: 'TOKEN_WRONG' },
  ])('$title: refused, and told where the token is', async ({ headers, status, code }) => {
    const answer = await ask('/mcp', {
      headers: { ...json, ...(headers as Record<string, string>) },
      body: ping,
    });
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([status, 'Bearer']);
    expect(JSON.parse(answer.body).error).toMatchObject({
      code,
      message: expect.stringContaining('squad hub status'),
    });
  });

  test.each([
    { title: 'a rebound name', host: () => `evil.example:${url.port}`, code: 'HOST_REFUSED' },
    {
      title: 'a name that begins like ours',
      host: () => `127.0.0.1.evil.example:${url.port}`,
      code: 'HOST_REFUSED',
    },
    { title: 'another port', host: () => '127.0.0.1:1', code: 'HOST_REFUSED' },
    { title: 'a page of another site', origin: () => 'https://evil.example', code: 'ORIGIN_REFUSED' },
    { title: 'a page without an origin', origin: () => 'null', code: 'ORIGIN_REFUSED' },
    { title: 'a page of another local server', origin: () => 'http://127.0.0.1:1', code: 'ORIGIN_REFUSED' },
  ])('$title: refused although the token is right', async ({ host, origin, code }) => {
    const headers = {
      ...json,
      ...authorization(),
      ...(host && { host: host() }),
      ...(origin && { origin: origin() }),
    };
    const answer = await ask('/mcp', { headers, body: ping });
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([403, code]);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('a request that names no path is refused', async () => {
    const answer = await ask('*', { headers: { ...json, ...authorization() }, body: ping });
    expect(answer.status).toBe(403);
  });

  test.each(['/', '/mcp/', '/mcp2', '//evil:99999/mcp', '/../mcp'])(
    'another path (%s) is not found',
    async path => {
      const answer = await ask(path, { headers: { ...json, ...authorization() }, body: ping });
      expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([404, 'NOT_FOUND']);
    },
  );

  test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('%s without a session is refused', async method => {
    const answer = await ask('/mcp', { method, headers: { ...json, ...authorization() } });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  });

  test('the port is on loopback only', () => {
    const port = Number(url.port).toString(16).toUpperCase().padStart(4, '0');
    const table = readFileSync('/proc/net/tcp', 'utf8') + readFileSync('/proc/net/tcp6', 'utf8');
    const listening = [...table.matchAll(/^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ 0A/gm)].filter(
      ([, , at]) => at === port,
    );
    // Both addresses, so that nobody else can answer at one of them.
    const ipv6 = '00000000000000000000000001000000';
    expect(listening.map(([, address]) => address)).toEqual(['0100007F', ipv6]);
  });
});

test('a body that is no JSON, or too large, is refused and the next request is served', async () => {
  const headers = { ...json, ...authorization() };
  expect((await ask('/mcp', { headers, body: '{"jsonrpc"' })).status).toBe(400);
  const large = await ask('/mcp', { headers, body: `{"a":"${'x'.repeat(33 * 1024 * 1024)}"}` }).catch(
    (error: NodeJS.ErrnoException) => error.code,
  );
  // The answer may be overtaken by the end of the connection, which is not read any further.
  expect(typeof large === 'string' ? large : large!.status).toBeOneOf([413, 'EPIPE', 'ECONNRESET']);
  const client = await connect(false, {});
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  await client.close();
});

describe.each([{ modern: false }, { modern: true }])(
  "the official SDK's client (current revision: $modern)",
  ({ modern }) => {
    test('works in the workspace its header names', async () => {
      const client = await connect(modern, { 'Squad-Workspace': squad.workspace });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('start_squad_members');
      const { roles } = await callTool<{ roles: { id: string }[] }>(client, 'list_roles');
      expect(roles.map(({ id }) => id)).toContain('coder');
      await client.close();
    });

    test('may name a folder with letters of any kind, as UTF-8', async () => {
      const folder = join(squad.workspace, 'größe-日本');
      mkdirSync(join(folder, 'agents'), { recursive: true });
      writeFileSync(join(folder, 'agents', 'local.md'), 'You are here.');
      // A header is bytes; JavaScript spells each of them as one letter.
      const client = await connect(modern, { 'Squad-Workspace': Buffer.from(folder).toString('latin1') });
      const { roles } = await callTool<{ roles: { id: string }[] }>(client, 'list_roles');
      expect(roles.map(({ id }) => id)).toEqual(['local']);
      await client.close();
    });

    test.each([
      { header: 'relative/path', code: 'INVALID_INPUT' },
      { header: '/no/such/folder', code: 'WORKSPACE_REFUSED' },
    ])(
      'a request whose header says $header gets an error that names the header',
      async ({ header, code }) => {
        const client = await connect(modern, { 'Squad-Workspace': header });
        expect(await callTool(client, 'list_roles')).toMatchObject({
          isError: true,
          error: { code, message: expect.stringContaining('Squad-Workspace header') },
        });
        await client.close();
      },
    );

    test('without the header gets the error that the workspace is not set, and how to set it', async () => {
      const client = await connect(modern, {});
      expect((await client.listTools()).tools.length).toBeGreaterThan(0);
      expect(await callTool(client, 'list_roles')).toMatchObject({
        isError: true,
        error: { code: 'WORKSPACE_UNSET', suggestions: [expect.stringContaining('Squad-Workspace')] },
      });
      await client.close();
    });

    test('a client whose hub was killed continues with its next request once a hub is there again', {
      tags: ['F2'],
    }, async () => {
      const client = await connect(modern, { 'Squad-Workspace': squad.workspace });
      const roles = async () =>
        (await callTool<{ roles: { id: string }[] }>(client, 'list_roles')).roles.map(({ id }) => id);
      const before = await roles();
      const { pid } = await squad.json<{ pid: number }>(['hub', 'status']);
      process.kill(pid, 'SIGKILL');
      await until('the hub is gone', () => !isAlive(pid));
      expect((await startedUrl(squad)).href).toBe(url.href);
      expect(await roles()).toEqual(before);
      expect((await client.listTools()).tools.length).toBeGreaterThan(0);
      const task = '```script\nreport still here\n```';
      const started = await client.callTool({
        name: 'start_squad_members',
        arguments: { members: [{ roleId: 'coder', task }] },
      });
      expect(started.structuredContent).toMatchObject({ members: [{ rawStdout: 'still here' }] });
      await client.close();
    });

    test('hears signs of life while it waits, and gets the result', async () => {
      const go = join(squad.workspace, `go-http-${modern}`);
      const client = await connect(modern, { 'Squad-Workspace': squad.workspace });
      const beats: string[] = [];
      const task = `\`\`\`script\nawait ${go}\nreport over http\n\`\`\``;
      const waiting = client.callTool(
        { name: 'start_squad_members', arguments: { members: [{ roleId: 'coder', task }] } },
        { timeout: 60_000, onprogress: ({ message }) => beats.push(message ?? '') },
      );
      await until('the first sign of life', () => beats.length > 0);
      writeFileSync(go, '');
      expect((await waiting).structuredContent).toMatchObject({
        members: [{ status: 'completed', rawStdout: 'over http' }],
      });
      await client.close();
    });
  },
);

test('the token is in its file and nowhere else: not in the log, the status or the command line', async () => {
  expect(token).toMatch(/^[\w-]{43}$/);
  const { stdout } = await squad.run(['hub', 'status', '--json']);
  const words = await squad.run(['hub', 'status']);
  const { pid } = JSON.parse(stdout);
  const places = [
    stdout,
    words.stdout,
    readFileSync(join(squad.home, 'hub.log'), 'utf8'),
    readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    readFileSync(`/proc/${pid}/environ`, 'utf8'),
    execFileSync('ps', ['-A', '-o', 'args'], { encoding: 'utf8' }),
  ];
  for (const place of places) expect(place.includes(token)).toBe(false);
});

describe('the port', () => {
  test('is the next one when the wanted one is taken, and the same again after a restart', async () => {
    await using other = new TestSquad();
    const blocker = createServer();
    // Not one that the system hands out: anybody might have the next one in a moment.
    const wanted = Number(other.env.MCP_SERVER_PORT);
    await new Promise<void>(resolve => blocker.listen(wanted, '127.0.0.1', resolve));
    const first = await startedUrl(other);
    delete other.env.MCP_SERVER_PORT;
    expect(Number(first.port)).toBeGreaterThan(wanted);
    expect(Number(first.port)).toBeLessThanOrEqual(wanted + 20);
    await other.run(['hub', 'stop']);
    blocker.close();
    expect((await startedUrl(other)).port).toBe(first.port);
    const before = readFileSync(join(other.home, 'token'), 'utf8');
    process.kill(await other.hubPid(), 'SIGKILL');
    expect((await startedUrl(other)).port).toBe(first.port);
    expect(readFileSync(join(other.home, 'token'), 'utf8')).toBe(before);
  });

  test('with an invalid number is reported by hub status and by open', async () => {
    await using other = new TestSquad({ MCP_SERVER_PORT: 'abc' });
    const warning = 'MCP_SERVER_PORT is "abc", which is not a port (1 to 65535); it is ignored';
    await startedUrl(other);
    expect((await other.run(['hub', 'status'])).stdout).toContain(warning);
    expect((await other.run(['open', '--no-browser'])).stderr).toContain(warning);
  });

  test('stays open for as long as somebody listens on it, and a stop does not wait for them', async () => {
    const env = { SQUAD_HUB_LINGER_MS: '150' };
    await using other = new TestSquad(env);
    await using idle = new TestSquad(env);
    const before = [url, token] as const;
    const keeper = await other.client();
    url = await startedUrl(other);
    token = readFileSync(join(other.home, 'token'), 'utf8').trim();
    const client = await connect(false, {});
    await keeper.close();
    const { pid } = await until('its stream is the only client besides this command', async () => {
      const status = await other.json<{ clients: number; pid: number }>(['hub', 'status']);
      return status.clients === 2 ? status : null;
    });
    const idlePid = await idle.hubPid();
    await until('a hub without clients is gone', () => !isAlive(idlePid));
    expect(isAlive(pid)).toBe(true);
    await other.run(['hub', 'stop']);
    expect(isAlive(pid)).toBe(false);
    await client.close();
    [url, token] = before;
  });
});
