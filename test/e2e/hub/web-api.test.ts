import { once } from 'node:events';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { get, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { showAs } from '../../../src/web-server/testing/another-user.ts';
import { OpenClient } from '../../../src/web-server/testing/web-fixture.ts';
import { ended, isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted', MCP_LOG_LEVEL: 'debug' });
squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');

beforeAll(async () => {
  mkdirSync(squad.env.SQUAD_AGENTS_DIR!);
  writeFileSync(join(squad.env.SQUAD_AGENTS_DIR!, 'coder.md'), 'You code.\n');
  writeFileSync(join(squad.env.SQUAD_AGENTS_DIR!, 'lead.md'), '---\nspawn: true\n---\nYou lead.\n');
  await squad.unlimited();
  // A request brings no environment: what it does not say comes from the user's own file.
  const config = join(squad.root, 'user', '.config', 'squad');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ engine: 'scripted' }));
});
afterAll(() => squad[Symbol.asyncDispose]());

const scripted = (...lines: string[]) => `x\n\`\`\`script\n${lines.join('\n')}\n\`\`\``;

const origins = new Map<TestSquad, string>();

/** Starts the hub when it is first asked for. */
async function originOf(of: TestSquad): Promise<string> {
  const known = origins.get(of);
  if (known !== undefined) return known;
  const { url } = await of.json<{ url: string }>(['hub', 'start']);
  origins.set(of, new URL(url).origin);
  return originOf(of);
}
const tokenOf = (of: TestSquad) => readFileSync(join(of.home, 'token'), 'utf8').trim();

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  token?: string;
  of?: TestSquad;
}
interface Answer<T> {
  status: number;
  headers: Headers;
  body: T & { error: { code: string; message: string; suggestions: string[] } };
}

async function ask<T = Record<string, never>>(
  path: string,
  { method, headers, body, token, of = squad }: Asked = {},
): Promise<Answer<T>> {
  const response = await fetch(`${await originOf(of)}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${token ?? tokenOf(of)}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      'squad-workspace': of.workspace,
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.json() } as Answer<T>;
}

const ticketFor = async (body: object, of = squad) =>
  (await ask<{ ticket: string }>('/api/ticket', { body, of })).body.ticket;

async function openClient(of = squad, after?: number): Promise<OpenClient> {
  const origin = await originOf(of);
  const query = after === undefined ? '' : `&after=${after}`;
  const ticket = await ticketFor({ purpose: 'live' }, of);
  return new OpenClient(
    new WebSocket(`${origin.replace('http', 'ws')}/api/live?ticket=${ticket}${query}`, { origin }),
  );
}

/** A run that stays running until it is released. */
async function startRunning(role: string, ...lines: string[]) {
  const go = `go-${Math.random().toString(36).slice(2)}`;
  const { runIds } = await squad.json<{ runIds: string[] }>([
    ...['run', '-d', role, scripted(...lines, `await ${go}`, 'report done')],
  ]);
  const id = runIds[0]!;
  const shown = async () => (await ask<{ run: { status: string } }>(`/api/runs/${id}`)).body.run.status;
  await until('it is running', async () => (await shown()) === 'running');
  const { token } = JSON.parse(readFileSync(join(squad.home, 'runs', id, 'turn-1', 'identity.json'), 'utf8'));
  return {
    id,
    token: token as string,
    async end() {
      squad.write(go, '');
      await until('it has ended', async () => (await shown()) === 'completed');
    },
  };
}

describe('the REST API', () => {
  test('starts agents, tells how they are, and gives what they wrote by byte range', async () => {
    const started = await ask<{ runs: { id: string }[]; runIds: string[] }>(
      '/api/tools/start_squad_members',
      {
        body: { members: [{ roleId: 'coder', task: scripted('report 12345') }] },
        headers: { prefer: 'wait=30' },
      },
    );
    expect(started.status).toBe(200);
    const { runs } = (await ask<{ runs: { id: string; status: string }[] }>('/api/runs?limit=1')).body;
    expect(runs).toMatchObject([{ status: 'completed' }]);
    const { body } = await ask<{ text: string; isOver: boolean; size: number }>(
      `/api/runs/${runs[0]!.id}/output?offset=0&limit=10&stream=stdout`,
    );
    expect(body).toMatchObject({ isOver: true, size: expect.any(Number) });
    expect(Buffer.byteLength(body.text)).toBeLessThanOrEqual(10);
  });

  test('a run that is not there is not found, with those that come near', async () => {
    const run = await startRunning('coder');
    const wrong = `${run.id.slice(0, -1)}${run.id.endsWith('0') ? '1' : '0'}`;
    const { status, body } = await ask(`/api/runs/${wrong}`);
    expect([status, body.error.code]).toEqual([404, 'RUN_UNKNOWN']);
    expect(body.error.suggestions.join()).toContain(run.id);
    await run.end();
  });

  test('the workspace may have letters of any kind, said as bytes or as a browser must', async () => {
    const folder = join(squad.workspace, 'größe-日本');
    mkdirSync(folder);
    for (const header of [Buffer.from(folder).toString('latin1'), `utf-8''${encodeURIComponent(folder)}`]) {
      const { body } = await ask<{ root: string }>('/api/workspace', {
        headers: { 'squad-workspace': header },
      });
      expect(JSON.stringify(body)).toContain('größe-日本');
    }
    const { status, body } = await ask('/api/workspace', { headers: { 'squad-workspace': "utf-8''%zz" } });
    expect([status, body.error.code]).toEqual([400, 'INVALID_INPUT']);
  });

  test('every route of the description is there', async () => {
    const { paths } = (
      await ask<{ paths: Record<string, Record<string, { operationId: string }>> }>('/api/openapi.json')
    ).body;
    expect(Object.keys(paths).length).toBeGreaterThan(40);
    const reads = Object.entries(paths).filter(([path, methods]) => methods.get && path.includes('{run}'));
    for (const [path] of reads) {
      const { status, body } = await ask(path.replace('{run}', 'nothing-like-it'));
      expect([status, body.error.code], path).not.toEqual([404, 'UNKNOWN_OPERATION']);
    }
  });

  test('a body over the limit of an MCP message is refused, and the next request is served', async () => {
    const large = await ask('/api/cancel', { body: { ids: ['x'.repeat(33 * 1024 * 1024)] } }).catch(
      // The answer may be overtaken by the end of the connection, which is not read any further.
      (error: Error) => String(error.cause ?? error),
    );
    if (typeof large === 'object')
      expect([large.status, large.body.error.code]).toEqual([413, 'MESSAGE_TOO_LARGE']);
    expect((await ask('/api/hub')).status).toBe(200);
  });
});

describe('an agent with its own token', () => {
  test('is itself: it gets no ticket, stops no hub and sees nobody else', async () => {
    const [lead, other] = [await startRunning('lead'), await startRunning('coder')];
    const as = { token: lead.token };
    for (const purpose of ['live', 'download', 'export', 'open'])
      expect(await ask('/api/ticket', { ...as, body: { purpose, run: other.id } })).toMatchObject({
        status: 403,
        body: { error: { code: 'NOT_ALLOWED' } },
      });
    expect(await ask('/api/hub/stop', { ...as, body: {} })).toMatchObject({ status: 403 });
    expect(await ask('/api/settings', { ...as, body: { key: 'limits.depth', value: '9' } })).toMatchObject({
      status: 403,
    });
    expect(await ask(`/api/runs/${other.id}`, as)).toMatchObject({
      status: 404,
      body: { error: { code: 'RUN_UNKNOWN' } },
    });
    expect((await ask<{ runs: unknown[] }>('/api/runs', as)).body.runs).toEqual([]);
    await Promise.all([lead.end(), other.end()]);
    await until('its token is worth nothing', async () => (await ask('/api/runs', as)).status === 401);
  });
});

describe('an open tab', () => {
  test('hears of a run from its start to its end, with its card as it is', async () => {
    const client = await openClient();
    await client.receives('hello');
    const run = await startRunning('coder', 'say working on it');
    await run.end();
    const cards = () =>
      client.ofType('changes').flatMap(({ runs }) => runs.filter(({ id }) => id === run.id));
    await until('its end is reported', () => cards().at(-1)?.status === 'completed');
    expect(cards()[0]).toMatchObject({ status: expect.stringMatching(/queued|running/), roleId: 'coder' });
    const types = client.ofType('changes').flatMap(({ events }) => events.map(({ body }) => body.type));
    expect(types).toEqual(expect.arrayContaining(['run.queued', 'run.started', 'run.ended']));
    client.socket.terminate();
  });

  test('hears how an output grows, and asks for it by range', async () => {
    const run = await startRunning('coder', 'say first words');
    const client = await openClient();
    await client.receives('hello');
    client.send({ type: 'watch', runId: run.id, turn: 1, stream: 'stdout' });
    const { size } = await client.receives('grew');
    await run.end();
    await until('it is over', () => client.ofType('grew').at(-1)?.isOver);
    expect(client.ofType('grew').at(-1)!.size).toBeGreaterThan(size);
    client.socket.terminate();
  });

  test('goes on where it was when its hub was killed and another one came', { tags: ['D9'] }, async () => {
    const client = await openClient();
    const { last: first, hubStartedAt } = await client.receives('hello');
    const run = await startRunning('coder');
    await until('the start is reported', () =>
      client.ofType('changes').some(({ runs }) => runs.some(({ id }) => id === run.id)),
    );
    const { last } = client.ofType('changes').at(-1)!;
    expect(last).toBeGreaterThan(first);
    process.kill(await squad.hubPid(), 'SIGKILL');
    expect(await client.closed).toMatchObject({ code: 1006 });
    await squad.hubPid();
    await run.end();
    const again = await openClient(squad, last);
    expect((await again.receives('hello')).hubStartedAt).toBeGreaterThan(hubStartedAt);
    await until('the end is reported', () =>
      again
        .ofType('changes')
        .some(({ runs }) => runs.some(({ id, status }) => id === run.id && status === 'completed')),
    );
    const seqs = again.ofType('changes').flatMap(({ events }) => events.map(({ seq }) => seq));
    expect(seqs[0]).toBe(last + 1);
    expect(seqs).toEqual(seqs.map((_, i) => last + 1 + i));
    again.socket.terminate();
  });

  test('keeps the hub there, and lets it go with it', async () => {
    const linger = { SQUAD_HUB_LINGER_MS: '2000' };
    await using kept = new TestSquad(linger);
    await using idle = new TestSquad(linger);
    // Keeps the hub until the tab is open, which takes longer than the hub lingers on a busy machine.
    const keeper = await kept.client();
    const client = await openClient(kept);
    await client.receives('hello');
    await keeper.close();
    const pid = await kept.hubPid();
    const idlePid = await idle.hubPid();
    await until('the hub without a page is gone', () => !isAlive(idlePid));
    await until('and so is one of the same age again', async () => !isAlive(await gone(idle)));
    expect(isAlive(pid)).toBe(true);
    client.socket.close();
    await until('the other is gone too', () => !isAlive(pid));
  });

  test('gets a close message from a hub that stops, and the hub stops at once', async () => {
    await using other = new TestSquad();
    const client = await openClient(other);
    await client.receives('hello');
    expect((await other.run(['hub', 'stop'])).code).toBe(0);
    expect(await client.closed).toEqual({ code: 1001, why: 'The hub stops' });
  });
});

/** Starts a hub that nobody needs and waits until it has gone; its pid. */
async function gone(of: TestSquad): Promise<number> {
  const pid = await of.hubPid();
  await until('it is gone', () => !isAlive(pid));
  return pid;
}

describe('a download', () => {
  const download = async (query: string) => {
    const origin = await originOf(squad);
    return new Promise<IncomingMessage>((settle, reject) =>
      get(`${origin}/api/download${query}`, settle).on('error', reject),
    );
  };

  test('is the whole output, however large, and the hub stays small', { tags: ['D9'] }, async () => {
    const run = await startRunning('coder', 'say words');
    await run.end();
    const file = join(squad.home, 'runs', run.id, 'turn-1', 'stdout');
    truncateSync(file, 512 * 1024 ** 2);
    const { size } = statSync(file);
    const pid = await squad.hubPid();
    const ticket = await ticketFor({ purpose: 'download', run: run.id, stream: 'stdout' });
    const before = memoryOf(pid, 'VmRSS');
    const response = await download(`?ticket=${ticket}`);
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename="${run.id}-turn-1-stdout.txt"`,
      'content-length': String(size),
      'x-content-type-options': 'nosniff',
    });
    let received = 0;
    for await (const chunk of response) received += (chunk as Buffer).length;
    expect(received).toBe(size);
    expect(memoryOf(pid, 'VmHWM') - before).toBeLessThan(200 * 1024);
    const again = await download(`?ticket=${ticket}`);
    expect(again.statusCode).toBe(401);
    again.resume();
    truncateSync(file, 0);
  });

  test('of a run is the file that `squad export` writes, never a page of the hub, once', async () => {
    const run = await startRunning('coder', 'say words </script>');
    await run.end();
    const ticket = await ticketFor({ purpose: 'export', run: run.id.slice(0, 12) });
    const response = await download(`?ticket=${ticket}`);
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': `attachment; filename="squad-${run.id}.html"`,
      'x-content-type-options': 'nosniff',
    });
    let saved = '';
    for await (const chunk of response.setEncoding('utf8')) saved += chunk;
    expect(Number(response.headers['content-length'])).toBe(Buffer.byteLength(saved));
    const { stdout } = await squad.run(['export', run.id, '-']);
    const when = /"savedAt":\d+/;
    expect(saved.replace(when, '')).toBe(stdout.replace(when, ''));
    const again = await download(`?ticket=${ticket}`);
    expect(again.statusCode).toBe(401);
    again.resume();
  });

  test.each([
    ['a symbolic link in its place', (file: string, secret: string) => symlinkSync(secret, file)],
    ['a second name of another file', (file: string, secret: string) => linkSync(secret, file)],
    [
      'a symbolic link in the place of its folder',
      (file: string, secret: string) => {
        const elsewhere = mkdtempSync(join(dirname(secret), 'elsewhere-'));
        writeFileSync(join(elsewhere, 'stdout'), 'not for you');
        renameSync(dirname(file), `${dirname(file)}.old`);
        symlinkSync(elsewhere, dirname(file));
      },
    ],
  ])('of %s is refused', { tags: ['links-in-the-place-of-an-output'] }, async (_what, replace) => {
    const run = await startRunning('coder', 'say words');
    await run.end();
    const file = join(squad.home, 'runs', run.id, 'turn-1', 'stdout');
    const secret = join(mkdtempSync(join(squad.home, 'outside-')), 'secret');
    writeFileSync(secret, 'not for you');
    rmSync(file);
    replace(file, secret);
    const ticket = await ticketFor({ purpose: 'download', run: run.id, stream: 'stdout' });
    const response = await download(`?ticket=${ticket}`);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    expect([response.statusCode, text]).toEqual([403, expect.stringContaining('PERMISSION_DENIED')]);
    expect(text).not.toContain('not for you');
  });

  test('needs a ticket of its own: neither the token, nor one for the live feed, nor one made up will do', async () => {
    const live = await ticketFor({ purpose: 'live' });
    for (const query of [
      '',
      `?ticket=${tokenOf(squad)}`,
      `?ticket=${live}`,
      '?ticket=x',
      `?token=${tokenOf(squad)}`,
    ]) {
      const response = await download(query);
      expect(response.statusCode, query.slice(0, 8)).toBe(401);
      response.resume();
    }
  });

  test('of a run or a turn that is not there gets no ticket', async () => {
    const run = await startRunning('coder');
    expect(await ask('/api/ticket', { body: { purpose: 'download', run: 'nothing' } })).toMatchObject({
      status: 404,
      body: { error: { code: 'RUN_UNKNOWN' } },
    });
    expect(await ask('/api/ticket', { body: { purpose: 'export', run: 'nothing' } })).toMatchObject({
      status: 404,
      body: { error: { code: 'RUN_UNKNOWN' } },
    });
    expect((await ask('/api/ticket', { body: { purpose: 'export', run: run.id, turn: 1 } })).status).toBe(
      400,
    );
    expect((await ask('/api/ticket', { body: { purpose: 'download', run: run.id, turn: 7 } })).status).toBe(
      404,
    );
    expect(
      (await ask('/api/ticket', { body: { purpose: 'download', run: run.id, stream: '../identity.json' } }))
        .status,
    ).toBe(400);
    await run.end();
  });
});

/** In kilobytes. */
const memoryOf = (pid: number, what: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);

describe('squad open', () => {
  const KEY = /#key=([\w-]{43})$/;
  /** As a browser does: the name leads to loopback, and is the Host. */
  const atWeb = (
    address: string,
    path: string,
    { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: object; body?: string } = {},
  ): Promise<{ status: number; text: string; headers: IncomingHttpHeaders }> =>
    new Promise((settle, reject) => {
      const { host, port } = new URL(address);
      const options = { host: '127.0.0.1', port, path, method, headers: { host, ...headers } };
      const sent = request(options, response => {
        let text = '';
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk;
        });
        response.on('end', () => settle({ status: response.statusCode!, text, headers: response.headers }));
      });
      sent.on('error', reject).end(body);
    });
  const exchange = (address: string) =>
    atWeb(address, '/api/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: KEY.exec(address)![1] }),
    });
  const statusOf = async (address: string, path: string, token: string) =>
    (await atWeb(address, path, { headers: { authorization: `Bearer ${token}` } })).status;

  test('prints an address, and gives the browser another, each with a key that becomes a session once', {
    tags: ['D9'],
  }, async () => {
    const asked = join(squad.root, 'asked');
    const browser = squad.script('browser', `printf '%s' "$1" > ${asked}.new && mv ${asked}.new ${asked}`);
    chmodSync(browser, 0o755);
    const run = await startRunning('coder');
    const { stdout, code } = await squad.run(['open', run.id], { env: { BROWSER: browser } });
    const address = await until('the browser was started', () => {
      try {
        return readFileSync(asked, 'utf8');
      } catch {
        return null;
      }
    });
    expect([code, stdout.trim()]).not.toEqual([0, address]);
    const { page } = await squad.json<{ page: string }>(['hub', 'status']);
    expect(page).toMatch(/^http:\/\/squad-[0-9a-f]{20}\.localhost:\d+$/);
    for (const url of [stdout.trim(), address]) {
      expect(url.replace(KEY, '')).toBe(`${page}/r/${run.id}`);
      expect(url).not.toContain(tokenOf(squad));
      const opened = await exchange(url);
      const { token } = JSON.parse(opened.text) as { token: string };
      expect(opened.text).not.toContain(tokenOf(squad));
      expect((await exchange(url)).status).toBe(401);
      // A session is for the REST API, at the web UI; the user's token is for programs, at the address of the port.
      const ip = await originOf(squad);
      expect(await statusOf(page, '/api/runs', token)).toBe(200);
      expect(await statusOf(page, '/mcp', token)).toBe(401);
      expect(await statusOf(ip, '/api/runs', token)).toBe(401);
      expect(await statusOf(page, '/api/runs', tokenOf(squad))).toBe(401);
    }
    await run.end();
  });

  test('--ip opens it at 127.0.0.1, where it is not unless asked for', { tags: ['S2'] }, async () => {
    await using other = new TestSquad();
    const ip = await originOf(other);
    expect((await atWeb(ip, '/')).status).toBe(404);
    const address = (await other.run(['open', '--ip', '--no-browser'])).stdout.trim();
    expect(new URL(address).origin).toBe(ip);
    expect(await atWeb(ip, '/')).toMatchObject({
      status: 200,
      text: expect.stringMatching(/doctype html/i),
    });
    const { token } = JSON.parse((await exchange(address)).text) as { token: string };
    expect(await statusOf(ip, '/api/runs', token)).toBe(200);
    expect(await statusOf(ip, '/mcp', token)).toBe(401);
  });

  test('gives keys to the terminal only: over HTTP even the token of the user gets none', {
    tags: ['S2'],
  }, async () => {
    const { status, body } = await ask('/api/ticket', { body: { purpose: 'open' } });
    expect([status, body.error.code]).toEqual([400, 'INVALID_INPUT']);
  });

  test('a session ends with its hub: the next one has another address, and knows nothing of it', {
    tags: ['D9', 'S2'],
  }, async () => {
    await using other = new TestSquad();
    const open = async () => (await other.run(['open', '--no-browser'])).stdout.trim();
    const before = await open();
    const { token } = JSON.parse((await exchange(before)).text) as { token: string };
    expect(await statusOf(before, '/api/runs', token)).toBe(200);
    await other.run(['hub', 'stop']);
    const after = await open();
    expect(new URL(after).port).toBe(new URL(before).port);
    expect(new URL(after).hostname).not.toBe(new URL(before).hostname);
    expect(await statusOf(before, '/api/runs', token)).toBe(403);
    expect(await statusOf(after, '/api/runs', token)).toBe(401);
    expect((await exchange(before)).status).toBe(403);
  });

  // Only root can be somebody else.
  test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
    'another user who sees the key gets nothing for it, which is in the log; the key stays good',
    async () => {
      const address = (await squad.run(['open', '--no-browser'])).stdout.trim();
      const key = KEY.exec(address)![1]!;
      expect(await showAs(65_534, new URL(address).host, key)).toMatch(/^HTTP\/1\.1 403 /);
      expect((await exchange(address)).status).toBe(200);
      const log = readFileSync(join(squad.home, 'hub.log'), 'utf8');
      expect(log).toContain('Another user of this machine tried to use a key');
      expect(log).not.toContain(key);
    },
  );

  test('lends the web UI its environment: a run started there finds the programs of the terminal', async () => {
    const heard = async () => {
      const task = scripted('run printenv LENT_BY || echo nobody');
      const { body } = await ask<{ runIds: [string] }>('/api/squads', {
        body: { members: [{ roleId: 'coder', task }] },
        headers: { 'squad-workspace': squad.workspace },
      });
      await squad.run(['wait', body.runIds[0]]);
      return (await squad.run(['log', body.runIds[0]])).stdout;
    };
    await squad.run(['open', '--no-browser'], { env: { LENT_BY: 'the first' } });
    expect(await heard()).toContain('the first');
    // Any other command lends nothing.
    await squad.run(['ls'], { env: { LENT_BY: 'a passer-by' } });
    expect(await heard()).toContain('the first');
    await squad.run(['open', '--no-browser'], { env: { LENT_BY: 'the second' } });
    expect(await heard()).toContain('the second');
  });

  test('only prints the address when told to, or when there is no screen', async () => {
    const { stdout } = await squad.run(['open', 'inbox', '--no-browser']);
    const { page } = await squad.json<{ page: string }>(['hub', 'status']);
    expect(stdout.trim().replace(KEY, '')).toBe(
      `${page}/inbox?${new URLSearchParams({ w: squad.workspace })}`,
    );
    const bare = await squad.run(['open']);
    expect([bare.code, bare.stderr]).toEqual([0, expect.stringContaining('Open the address yourself')]);
  });

  test('finds squads, and says which runs come near one that is not there', async () => {
    const run = await startRunning('coder');
    const { squadId } = (await ask<{ run: { squadId: string } }>(`/api/runs/${run.id}`)).body.run;
    const { stdout } = await squad.run(['open', squadId, '--no-browser']);
    expect(new URL(stdout).pathname).toBe(`/s/${squadId}`);
    const { code, stderr } = await squad.run(['open', 'run_0000000000', '--no-browser']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('RUN_UNKNOWN')]);
    await run.end();
  });

  test('is not for agents, and puts the token into no log', async () => {
    const out = join(squad.workspace, 'opened.txt');
    const cli = `"${process.execPath}" "${join(import.meta.dirname, '..', '..', '..', 'bin', 'squad.cjs')}"`;
    const run = await startRunning('lead', `try ${cli} open --no-browser > ${out} 2>&1; true`);
    await run.end();
    expect(readFileSync(out, 'utf8')).toContain('NOT_ALLOWED');
    expect(readFileSync(out, 'utf8')).not.toContain(tokenOf(squad));
    expect(readFileSync(join(squad.home, 'hub.log'), 'utf8')).not.toContain(tokenOf(squad));
  });
});

describe('squad up', () => {
  test('holds the hub, finds the next one when it is killed, and leaves at Ctrl-C', {
    tags: ['D9'],
  }, async () => {
    await using other = new TestSquad({ SQUAD_HUB_LINGER_MS: '300' });
    const up = other.start(['up']);
    let printed = '';
    up.stdout!.on('data', chunk => {
      printed += chunk;
    });
    await until('it prints the address', () => printed.includes('#key='));
    const pid = await other.hubPid();
    process.kill(pid, 'SIGKILL');
    await until('it prints the next address', () => printed.match(/#key=/g)?.length === 2);
    const next = await until('another hub is there', async () => {
      const status = await other.json<{ running: boolean; pid?: number }>(['hub', 'status']);
      return status.running && status.pid;
    });
    expect(next).not.toBe(pid);
    const over = ended(up);
    up.kill('SIGINT');
    expect((await over).code).toBe(0);
    await until('the hub goes', () => !isAlive(next));
    // Each hub has an address of its own.
    expect(printed.match(/#key=/g)).toHaveLength(2);
  });

  test('ends when the hub is stopped on purpose', async () => {
    await using other = new TestSquad();
    const up = other.start(['up']);
    const over = ended(up);
    await until('the hub is there', async () => (await other.run(['hub', 'status'])).code === 0);
    await until('it is held', async () => {
      const { clients } = await other.json<{ clients: number }>(['hub', 'status']);
      return clients > 1;
    });
    await other.run(['hub', 'stop']);
    expect(await over).toMatchObject({ code: 0, stderr: expect.stringContaining('The hub was stopped') });
  });
});

test('the next port is used if one is taken, and the web UI knows its own', async () => {
  await using other = new TestSquad();
  const blocker = createServer();
  const wanted = Number(other.env.MCP_SERVER_PORT);
  await new Promise<void>(resolve => blocker.listen(wanted, '127.0.0.1', resolve));
  const { stdout } = await other.run(['open', '--no-browser']);
  const { port, host } = new URL(stdout);
  expect(Number(port)).toBeGreaterThan(wanted);
  const asked = get({ host: '127.0.0.1', port, headers: { host } });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  expect(response.headers['content-security-policy']).toContain(`ws://${host};`);
  blocker.close();
});
