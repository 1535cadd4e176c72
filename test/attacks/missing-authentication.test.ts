import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/operations.ts';
import { amountOf, figure, figureTimeout } from '../faults/figures.ts';
import { TestSquad, until } from '../support/squad.ts';
import { type Agent, requestOf, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { restRoutes, WITHOUT_TOKEN } from './doors.ts';
import { Recorded, toolNamed } from './recorded.ts';
import { SocketLine } from './socket-line.ts';

const squad = new TestSquad();
const kept = new Recorded(squad.root, 'kept', { tools: [toolNamed('say')] });
let agent: Agent;
let ended: Agent;

beforeAll(async () => {
  await squad.unlimited();
  await configure(squad, { servers: { kept: kept.block() }, shared: ['kept'] });
  [agent, ended] = (await startAgents(squad, 'coder', 'coder')) as [Agent, Agent];
  await agent.sees('kept__say');
  await squad.run(['cancel', ended.id]);
  await until('its token is worth nothing', async () => (await ended.ask('tools/list')).status === 401);
});
afterAll(() => squad[Symbol.asyncDispose]());

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE'];
const PATHS = [
  '/mcp',
  '/mcp?token=TOKEN',
  '/mcp?access_token=TOKEN',
  '/mcp/',
  '/api',
  '/api/hub',
  '/api/runs?token=TOKEN',
  '/api/tools/start_squad_members',
  '/api/ticket',
  '/api/download?ticket=TOKEN',
  '/api/session',
  '/api/session?key=TOKEN',
];
/** Paths that need no token: the files of the web UI, and nothing else. */
const PAGES = ['/', '/sse', '/messages', '/health', '/favicon.ico', '/api.html', '/%61pi/hub', '//api/hub'];

/** Headers of a request. TOKEN stands for the real token, ENDED for the token of a run that has ended. */
const CREDENTIALS: Record<string, Record<string, string | string[]>> = {
  none: {},
  empty: { authorization: '' },
  'no token': { authorization: 'Bearer' },
  'an empty token': { authorization: 'Bearer ' },
  wrong: { authorization: 'Bearer 0000000000000000000000000000000000000000000' },
  'one letter less': { authorization: 'Bearer SHORT' },
  'one letter more': { authorization: 'Bearer TOKENx' },
  'other letters': { authorization: 'Bearer FLIPPED' },
  'of a run that has ended': { authorization: 'Bearer ENDED' },
  'its hash': { authorization: 'Bearer HASH' },
  'Basic, as the password': { authorization: 'Basic BASIC' },
  'Basic, as it is': { authorization: 'Basic TOKEN' },
  'no scheme': { authorization: 'TOKEN' },
  'two tokens in one': { authorization: 'Bearer TOKEN, Bearer TOKEN' },
  'two headers': { authorization: ['Bearer TOKEN', 'Bearer TOKEN'] },
  'two headers, one wrong': { authorization: ['Bearer wrong', 'Bearer TOKEN'] },
  'another header': { 'x-authorization': 'Bearer TOKEN', 'proxy-authorization': 'Bearer TOKEN' },
  'a cookie': { cookie: 'token=TOKEN; authorization=Bearer TOKEN' },
  'of the MCP session': { 'mcp-session-id': 'TOKEN' },
  'the id of the run': { authorization: 'Bearer RUN', 'x-agent-id': 'RUN' },
};

const cases = Object.keys(CREDENTIALS).flatMap(credential =>
  METHODS.flatMap(method => [
    ...PATHS.map(path => ({ credential, method, path })),
    ...(method === 'GET' || method === 'HEAD' ? [] : PAGES.map(path => ({ credential, method, path }))),
  ]),
);

function filledIn(text: string): string {
  const { token } = agent;
  const flipped = [...token].map(letter =>
    letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
  );
  return text
    .replaceAll('TOKEN', token)
    .replaceAll('SHORT', token.slice(0, -1))
    .replaceAll('FLIPPED', flipped.join(''))
    .replaceAll('ENDED', ended.token)
    .replaceAll('HASH', createHash('sha256').update(token).digest('hex'))
    .replaceAll('BASIC', Buffer.from(`user:${token}`).toString('base64'))
    .replaceAll('RUN', agent.id);
}

async function statusOf(asked: (typeof cases)[number]): Promise<number> {
  return (await answerTo(asked)).status;
}

function answerTo(
  { credential, method, path }: (typeof cases)[number],
  tool = 'kept__say',
): Promise<{ status: number; body: string }> {
  const { headers, body } = requestOf('tools/call', { name: tool, arguments: {} });
  const shown = Object.entries(CREDENTIALS[credential]!).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(filledIn) : filledIn(value),
  ]);
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        host: '127.0.0.1',
        port: agent.url.port,
        path: filledIn(path),
        method,
        headers: { ...headers, ...Object.fromEntries(shown) },
      },
      response => {
        let text = '';
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk;
        });
        response.once('end', () => resolve({ status: response.statusCode!, body: text }));
      },
    );
    asking.on('error', reject);
    asking.end(method === 'POST' || method === 'PUT' ? body : undefined);
  });
}

test('every way in, with every credential that is none, is closed, and nothing gets through to a server', {
  tags: ['missing-authentication-on-loopback'],
}, async () => {
  const before = kept.asked().length;
  const admitted: unknown[] = [];
  for (const each of cases) {
    const status = await statusOf(each);
    if (status !== 401) admitted.push({ ...each, status });
  }
  expect(admitted).toEqual([]);
  expect(cases.length).toBeGreaterThan(1_000);
  expect(kept.asked()).toHaveLength(before);
  // The same request is let in with the token: it was the token that was missing.
  expect((await agent.call('kept__say')).status).toBe(200);
  expect(kept.asked()).toHaveLength(before + 1);
});

test('every route that is registered, every tool and every operation of the socket asks for a token', {
  tags: ['R32'],
  timeout: figureTimeout(60_000),
}, async () => {
  const before = kept.asked().length;
  const routes = restRoutes().filter(({ method, path }) => !WITHOUT_TOKEN.includes(`${method} ${path}`));
  const tools = OPERATIONS.map(({ name }) => name);
  const admitted: unknown[] = [];
  // All of them were tried on a few paths above; here a few are enough for each door.
  const shown = Object.keys(CREDENTIALS);
  const tried = amountOf(shown.length, 3);
  for (const credential of shown.slice(0, tried)) {
    for (const { method, path } of routes) {
      const { status } = await answerTo({ credential, method, path });
      if (status !== 401) admitted.push({ credential, method, path, status });
    }
    for (const tool of tools) {
      const { status } = await answerTo({ credential, method: 'POST', path: '/mcp' }, tool);
      if (status !== 401) admitted.push({ credential, tool, status });
    }
  }
  for (const token of ['wrong', ended.token, filledIn('FLIPPED'), filledIn('SHORT')])
    await expect(SocketLine.open(squad, { token }), token).rejects.toThrow('No handshake');
  expect(admitted).toEqual([]);
  expect(routes.length).toBeGreaterThan(70);
  expect(kept.asked()).toHaveLength(before);
  const doors = routes.length + tools.length + 1;
  figure('R32', {
    reached: doors,
    of: doors,
    told: `${routes.length} routes, ${tools.length} operations as tools and the socket, found by reflection, closed to ${tried} wrong credentials`,
  });
});

test('nothing below /api but four paths needs no token', { tags: ['R32'] }, () => {
  const source = readFileSync(join(import.meta.dirname, '..', '..', 'src', 'http', 'serve.ts'), 'utf8');
  const named = [...source.matchAll(/'([A-Z]+ \/[a-z/]+)'/g)].map(([, door]) => door);
  expect(named.sort()).toEqual(WITHOUT_TOKEN.toSorted());
});

test('at the address of the port everybody gets the same answer with any credential: the web UI is not here', {
  tags: ['missing-authentication-on-loopback'],
}, async () => {
  const answers = new Map<string, Set<string>>();
  for (const credential of Object.keys(CREDENTIALS))
    for (const path of PAGES) {
      const { status, body } = await answerTo({ credential, method: 'GET', path });
      answers.set(path, (answers.get(path) ?? new Set()).add(`${status} ${body}`));
    }
  const user = readFileSync(join(squad.home, 'token'), 'utf8').trim();
  for (const [path, given] of answers) {
    expect([...given], path).toHaveLength(1);
    const [only] = given;
    expect(only, path).toMatch(/^404 .*The web UI is not at this address/);
    for (const secret of [user, agent.token, agent.id, squad.home]) expect(only).not.toContain(secret);
  }
});

test('there is one port that listens for requests, at both its addresses, and one for our own programs', {
  tags: ['missing-authentication-on-loopback'],
}, () => {
  const root = join(import.meta.dirname, '..', '..', 'src');
  const listening = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !/\.test\.ts$|testing\/|fixtures\//.test(name))
    .filter(name => /\b(createServer|createSecureServer)\(/.test(readFileSync(join(root, name), 'utf8')));
  // The proxy of sandboxes listens on a socket for the user only, and inside the network of each sandbox. A box passes requests of its
  // own agents on to the hub. `squad doctor --policy` listens for its own probes while it tries them.
  const others = ['cli/setup/policy/decoys.ts', 'process/sandbox/proxy.ts', 'runner/door.ts'];
  const own = ['http/listen-near.ts', 'http/serve.ts', 'hub/server.ts'];
  expect(listening.sort()).toEqual([...others, ...own].sort());
});
