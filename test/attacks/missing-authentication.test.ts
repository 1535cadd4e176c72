import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSquad, until } from '../support/squad.ts';
import { type Agent, requestOf, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { Recorded, toolNamed } from './recorded.ts';

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
  '/',
  '/sse',
  '/messages',
  '/mcp/',
  '/health',
  '/favicon.ico',
];

/** What a request shows; the real token is TOKEN, that of a run that has ended ENDED. */
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
  METHODS.flatMap(method => PATHS.map(path => ({ credential, method, path }))),
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

function statusOf({ credential, method, path }: (typeof cases)[number]): Promise<number> {
  const { headers, body } = requestOf('tools/call', { name: 'kept__say', arguments: {} });
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
        response.resume();
        response.once('end', () => resolve(response.statusCode!));
      },
    );
    asking.on('error', reject);
    asking.end(method === 'POST' || method === 'PUT' ? body : undefined);
  });
}

test('every way in, with every credential that is none, is closed, and nothing gets through to a server', async () => {
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

test('there is one place that listens for requests, and one for our own programs', () => {
  const root = join(import.meta.dirname, '..', '..', 'src');
  const listening = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !/\.test\.ts$|testing\/|fixtures\//.test(name))
    .filter(name => /\b(createServer|createSecureServer)\(/.test(readFileSync(join(root, name), 'utf8')));
  expect(listening.sort()).toEqual(['http/serve.ts', 'hub/server.ts']);
});
