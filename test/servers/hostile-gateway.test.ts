import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ForwardedClient, GatewayView } from '../../src/core/ports/gateway.ts';
import { plainRequest } from '../../src/gateway/testing/gateway-fixture.ts';
import { amountOf, figure, figureTimeout } from '../faults/figures.ts';
import { realGateway } from '../support/real-gateway.ts';
import { isAlive, until } from '../support/squad.ts';
import type { Behaviour } from './hostile/behaviour.ts';
import { BEHAVIOURS } from './hostile/behaviours.ts';
import { FORMS } from './hostile/secrets.ts';
import { echoBlock, hostileBlock, variable } from './start.ts';

const SECRET = 'hunter2-"0ß&x9Qz';
const folder = mkdtempSync(join(tmpdir(), 'squad-hostile-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Long enough for an honest start on a busy machine, and no longer than it takes to see that no answer will come. */
function patienceWith({ comesUp, call }: Behaviour): number {
  if (!comesUp) return 1_000;
  return call === 'nothing' ? 7_000 : 45_000;
}

/** Controls other than line ends and tabs, overrides of direction, and what takes no room: none of it is for a reader. */
const INVISIBLE =
  /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u{ad}\u{180e}\u{200b}-\u{200f}\u{2060}-\u{2064}\u{feff}\u{e0000}-\u{e01ef}]/u;

/** However often a text was made JSON within JSON, what it says is the same. */
const plain = (words: string) => words.replaceAll('\\', '');

type Outcome = 'result' | 'own' | 'error' | 'nothing';

async function call(
  view: GatewayView,
  name: string,
  nonce: string,
): Promise<{ outcome: Outcome; said: string }> {
  const told: unknown[] = [];
  const request = plainRequest({ progress: update => told.push(update) });
  try {
    const result = await view.call(name, { name, arguments: { nonce } }, request);
    const said = JSON.stringify([result, told]);
    const [first] = (result?.content ?? []) as { text?: string }[];
    if (first?.text === nonce) return { outcome: 'result', said };
    const isOurs = result?.isError === true && /unavailable|failed in this call/.test(first?.text ?? '');
    return { outcome: isOurs ? 'nothing' : 'own', said };
  } catch (error) {
    const { message, data } = error as { message: string; data?: unknown };
    return { outcome: 'error', said: JSON.stringify([message, data, told]) };
  }
}

describe('with a hostile server beside an honest one', () => {
  it.concurrent.each(Object.entries(BEHAVIOURS))(
    '%s: only it suffers',
    { tags: ['R13', 'R31'] },
    async (name, behaviour) => {
      const { comesUp, call: expected } = behaviour;
      const pidsFile = join(folder, name);
      const env = { SECRET: variable('SECRET'), PIDS_FILE: pidsFile };
      const bad = hostileBlock(name, { env, timeout: patienceWith(behaviour) });
      const config = { servers: { bad, good: echoBlock() }, shared: ['bad', 'good'] };
      await using fixture = realGateway(config, { SECRET });
      const run = fixture.run();
      fixture.gateway.prepare(run);
      const view = fixture.view(run);

      // A list does not wait for ever for those that are slow to start; the honest one is not made to wait by the other.
      await until('the honest one is listed', async () =>
        (await view.tools()).some(tool => tool.name === 'good__echo'),
      );
      const listed = await until('what comes up is listed', async () => {
        const tools = await view.tools();
        return (!comesUp || tools.some(tool => tool.name === 'bad__echo')) && tools;
      });
      const names = listed.map(tool => tool.name);
      expect(names.includes('bad__echo')).toBe(comesUp);
      expect(names.filter(each => !/^(bad|good)__[A-Za-z0-9_-]{0,46}$/.test(each))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
      const descriptions = listed.map(({ description = '' }) => String(description));
      expect(descriptions.filter(words => INVISIBLE.test(words) || words.length > 20_000)).toEqual([]);

      const [hostile, ...honest] = await Promise.all([
        comesUp ? call(view, 'bad__echo', 'n-1') : null,
        ...Array.from({ length: 5 }, (_, at) => call(view, 'good__echo', `honest ${at}`)),
      ]);
      expect(honest.map(({ outcome }) => outcome)).toEqual(Array(5).fill('result'));
      if (hostile)
        expect([hostile.outcome, hostile.said.slice(0, 300)]).toEqual([expected, expect.any(String)]);
      expect((await call(view, 'good__echo', 'after')).outcome).toBe('result');

      const statuses = await fixture.gateway.status(null);
      expect(statuses.find(({ server }) => server === 'good')).toMatchObject({ health: 'up', failures: 0 });
      const { audit, warnings, pins, log } = fixture;
      const written = plain(
        JSON.stringify([listed, hostile, statuses, audit, warnings, log, [...pins.values()]]),
      );
      for (const form of Object.values(FORMS)) expect(written).not.toContain(plain(form(SECRET)));

      const pids = [
        ...statuses.flatMap(({ pid }) => pid ?? []),
        ...(existsSync(pidsFile) ? readFileSync(pidsFile, 'utf8').trim().split('\n').map(Number) : []),
      ];
      await fixture.gateway.close();
      await until('nothing of it is left', () => pids.every(pid => !isAlive(pid)));
    },
  );
});

it('an answer that is too large fails its call alone, and speaks against nobody', async () => {
  await using fixture = realGateway({ servers: { good: echoBlock() }, shared: ['good'] });
  const [view, other] = [fixture.view(fixture.run()), fixture.view(fixture.run())];
  await view.tools();
  const echo = (of: GatewayView, args: object) => of.call('good__echo', { arguments: args }, plainRequest());
  const before = echo(other, { nonce: 'before', delayMs: 500 });
  await expect(echo(view, { nonce: 'n', bytes: 9 * 1024 * 1024 })).rejects.toThrow('The answer is too large');
  expect(await before).toMatchObject({ content: [{ text: 'before' }] });
  expect((await call(view, 'good__echo', 'after')).outcome).toBe('result');
  expect(await fixture.gateway.status(null)).toMatchObject([
    { health: 'up', failures: 0, fault: null, restarts: 0 },
  ]);
  expect(fixture.audit.map(({ outcome }) => outcome)).toContain('protocol_error');
});

it('what nobody asked for is thrown away and counted', {
  tags: ['R9'],
  timeout: figureTimeout(60_000),
}, async () => {
  await using fixture = realGateway({ servers: { bad: hostileBlock('unasked') }, shared: ['bad'] });
  const agents = Array.from({ length: 10 }, () => {
    const delivered: unknown[] = [];
    const client: ForwardedClient = {
      capabilities: { sampling: {}, roots: {}, elicitation: {} },
      ask: async (method, params) => {
        delivered.push([method, params]);
        return {};
      },
      tell: (method, params) => void delivered.push([method, params]),
    };
    const progress = (update: unknown) => void delivered.push(update);
    return { view: fixture.view(fixture.run()), delivered, client, progress };
  });
  await agents[0]!.view.tools();
  const stray = async () => (await fixture.gateway.status(null))[0]!.stray;
  const goal = amountOf(100_000);
  let sent = 0;
  while (sent < goal) {
    await Promise.all(
      agents.map(async ({ view, client, progress }, at) => {
        const nonce = `${sent} ${at}`;
        const result = await view.call(
          'bad__echo',
          { arguments: { nonce, unasked: 120 } },
          plainRequest({ client, progress }),
        );
        expect(result).toEqual({ content: [{ type: 'text', text: nonce }] });
      }),
    );
    const cancelled = new AbortController();
    const { view, client, progress } = agents[0]!;
    const held = view.call(
      'bad__echo',
      { arguments: { nonce: 'held', late: 100 } },
      plainRequest({ client, progress, signal: cancelled.signal }),
    );
    await until('it is under way', async () => (await fixture.gateway.status(null))[0]!.callsInFlight > 0);
    cancelled.abort();
    await expect(held).rejects.toThrow('was cancelled');
    sent += 120 * agents.length + 100;
    await until('all of it has come', async () => (await stray()) >= sent);
  }
  expect(agents.flatMap(({ delivered }) => delivered)).toEqual([]);
  expect(await fixture.gateway.status(null)).toMatchObject([{ stray: sent, failures: 0, health: 'up' }]);
  figure('R9', { reached: sent, of: 100_000, told: '0 delivered to 10 agents, all counted' });
});

it('nobody follows a schema to where it points', async () => {
  const asked: string[] = [];
  const elsewhere = createServer((request, response) => {
    asked.push(request.url!);
    response.end('{}');
  });
  elsewhere.listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  const env = { SCHEMA_URL: `http://127.0.0.1:${(elsewhere.address() as { port: number }).port}/schema` };
  await using fixture = realGateway({
    servers: { bad: hostileBlock('remote-refs', { env }) },
    shared: ['bad'],
  });
  const view = fixture.view(fixture.run());
  for (const { name } of await view.tools()) await call(view, name, 'n');
  elsewhere.close();
  await once(elsewhere, 'close');
  expect(asked).toEqual([]);
});

describe('a server that changes what it offers', () => {
  it.each([
    ['adds-a-tool', ['bad__echo', 'bad__read'], ['delete_all']],
    ['removes-a-tool', ['bad__echo'], []],
    ['changes-description', ['bad__echo'], ['read']],
    ['changes-schema', ['bad__echo'], ['read']],
    ['changes-annotation', ['bad__echo'], ['read']],
    ['renames-a-tool', ['bad__echo'], ['read_file']],
    ['reorders', ['bad__echo', 'bad__read'], []],
  ])(
    '%s: what is new or another waits for approval, the rest stays',
    { tags: ['rug-pull'] },
    async (name, stay, wait) => {
      await using fixture = realGateway({ servers: { bad: hostileBlock(`${name}-told`) }, shared: ['bad'] });
      const { gateway, workspace } = fixture;
      const run = fixture.run();
      gateway.prepare(run);
      const view = fixture.view(run);
      const listed = async () => (await view.tools()).map(tool => tool.name);
      expect(await listed()).toEqual(['bad__echo', 'bad__read']);

      expect((await call(view, 'bad__echo', 'n')).outcome).toBe('result');
      await until('the change is seen', async () => {
        const pending = (await gateway.pending(workspace)).map(({ tool }) => tool);
        return JSON.stringify([await listed(), pending]) === JSON.stringify([stay, wait]);
      });
      for (const tool of ['bad__read', ...wait.map(each => `bad__${each}`)].filter(
        each => !stay.includes(each),
      ))
        expect(await view.call(tool, { name: tool, arguments: {} }, plainRequest())).toBe(null);

      await gateway.approve(workspace, {});
      expect(await gateway.pending(workspace)).toEqual([]);
      await until('what was approved is there', async () => {
        const now = await listed();
        return wait.every(tool => now.includes(`bad__${tool}`));
      });
    },
  );
});
