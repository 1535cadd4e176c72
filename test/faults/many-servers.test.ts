import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { realTimers } from '../../src/base/clock.ts';
import { firstText, GatewayFixture, local, plainRequest } from '../../src/gateway/testing/gateway-fixture.ts';
import { connectTo, MemoryServer } from '../../src/gateway/testing/memory-server.ts';
import { settled } from '../../src/gateway/testing/virtual-time.ts';
import { type Connect, createConnect } from '../../src/gateway/upstream/connect.ts';
import { createServiceTags } from '../../src/process/programs/service.ts';
import { createProcessTable } from '../../src/process/table/process-table.ts';
import type { ToolDef } from '../../src/wire/face/face.ts';
import { toolListText } from '../../src/wire/face/tool-result.ts';
import { UpstreamFault } from '../../src/wire/upstream/link.ts';
import { amountOf, figure, figureTimeout } from './figures.ts';
import { listProcesses } from './processes.ts';
import { createRandom, newSeed } from './random.ts';

const NONCE_SERVER = join(import.meta.dirname, 'gateway', 'nonce-server.ts');
const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());
const root = mkdtempSync(join(tmpdir(), 'squad-many-servers-'));
const tags = createServiceTags(root);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const toProcesses: Connect = createConnect({
  table: createProcessTable(),
  nextTag: tags.next,
  clientInfo: { name: 'squad', version: '0' },
});
const nonceServer = (id: string, folder: string) =>
  local({ command: process.execPath, args: [NONCE_SERVER, id, folder], timeout: 60_000 });
const configOf = (servers: Record<string, object>) => ({ servers, shared: Object.keys(servers) });
const processesIn = (folder: string) => listProcesses().filter(({ command }) => command.includes(folder));
const idsOf = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

/** Counts how many connections are being made at the same time. */
function counting(connect: Connect): { connect: Connect; starts(): { total: number; most: number } } {
  let [now, total, most] = [0, 0, 0];
  return {
    starts: () => ({ total, most }),
    async connect(request) {
      total++;
      most = Math.max(most, ++now);
      return await connect(request).finally(() => now--);
    },
  };
}

test('100 agents that call 10 servers share 10 processes, of which at most 4 start at once', {
  tags: ['R10'],
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(join(root, 'fan-in-'));
  const ids = idsOf('s', 10);
  const { connect, starts } = counting(toProcesses);
  await using fixture = new GatewayFixture({
    connect,
    config: configOf(Object.fromEntries(ids.map(id => [id, nonceServer(id, folder)]))),
    timers: realTimers,
    workspace: root,
  });
  const views = Array.from({ length: 100 }, () => fixture.view(fixture.run()));
  const calls = views.flatMap((view, agent) => ids.map(id => ({ view, id, nonce: `${agent}/${id}` })));
  const answers = await Promise.all(
    calls.map(({ view, id, nonce }) => view.call(`${id}__say`, { arguments: { nonce } }, plainRequest())),
  );
  expect(answers.map(firstText)).toEqual(calls.map(({ nonce }) => nonce));
  expect(processesIn(folder)).toHaveLength(10);
  expect(starts().total).toBe(10);
  expect(starts().most).toBeLessThanOrEqual(4);
  await fixture.gateway.close();
  expect(processesIn(folder)).toEqual([]);
  const told = `${calls.length} calls, 10 processes, at most ${starts().most} starting at once`;
  figure('R10', { reached: views.length, of: 100, told });
});

const COLD_SERVER = join(import.meta.dirname, 'agents', 'cold-server.sh');
/** A tenth takes a minute on a busy machine: each round waits for the end of its process. */
const ROUNDS = amountOf(1000, 24);
const ROUNDS_AT_ONCE = 8;

test(`200 callers of one cold server start one process, ${ROUNDS} times`, {
  tags: ['R16'],
  timeout: figureTimeout(300_000),
}, async () => {
  const folder = mkdtempSync(join(root, 'race-'));
  for (let done = 0; done < ROUNDS; done += ROUNDS_AT_ONCE)
    await Promise.all(Array.from({ length: ROUNDS_AT_ONCE }, () => race(folder)));
  expect(readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n')).toHaveLength(ROUNDS);
  expect(processesIn(folder)).toEqual([]);
  figure('R16', {
    reached: ROUNDS,
    of: 1000,
    told: `${ROUNDS} rounds of 200 callers, ${ROUNDS} processes`,
  });
});

async function race(folder: string): Promise<void> {
  const { connect, starts } = counting(toProcesses);
  await using fixture = new GatewayFixture({
    connect,
    config: configOf({ cold: local({ command: '/bin/sh', args: [COLD_SERVER, folder], timeout: 60_000 }) }),
    timers: realTimers,
    workspace: root,
  });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, at) =>
      fixture.view(fixture.run()).call('cold__say', { arguments: { nonce: `${at}` } }, plainRequest()),
    ),
  );
  expect(answers.map(firstText)).toEqual(idsOf('', 200));
  expect(starts().total).toBe(1);
}

test('of 100 servers at a cold start 20 are broken: known tools are there at once, and the 80 are ready in 30 s', {
  tags: ['R12'],
}, async () => {
  const hanging = Promise.withResolvers<void>();
  const healthy = Object.fromEntries(idsOf('good', 80).map(id => [id, new MemoryServer()]));
  const broken = Object.fromEntries(
    idsOf('bad', 20).map((id, at) => [id, brokenServer(at, hanging.promise)]),
  );
  const config = configOf(
    Object.fromEntries(
      createRandom(seed)
        .shuffle(Object.keys({ ...healthy, ...broken }))
        .map(id => [id, local()]),
    ),
  );
  await using before = new GatewayFixture({
    connect: connectTo(Object.fromEntries(Object.keys(config.servers).map(id => [id, new MemoryServer()]))),
    config,
  });
  await before.view(before.run()).tools();
  expect(before.pins.size).toBe(100);

  const { connect, starts } = counting(connectTo({ ...healthy, ...broken }));
  await using fixture = new GatewayFixture({ connect, config, pins: before.pins });
  // Nothing here can be interrupted, and closing waits for it.
  using _ = { [Symbol.dispose]: () => hanging.resolve() };
  const run = fixture.run();
  fixture.gateway.prepare(run);
  const startedAt = performance.now();
  const view = fixture.view(run);
  // No simulated time passes: the tools are those that are known from before.
  const known = (await view.tools()).map(({ name }) => name);
  const usableMs = performance.now() - startedAt;
  for (const id of Object.keys(healthy)) expect(known).toContain(`${id}__echo`);
  const call = view.call('good79__echo', { arguments: {} }, plainRequest());
  await fixture.time.pass(30_000);
  expect(firstText(await call)).toBe('{}');
  const status = await fixture.gateway.status(null);
  const up = status.filter(({ health }) => health === 'up').map(({ server }) => server);
  expect(up.toSorted()).toEqual(Object.keys(healthy).toSorted());
  const listed = (await view.tools()).map(({ name }) => name);
  expect(listed).toEqual(expect.arrayContaining(Object.keys(healthy).map(id => `${id}__echo`)));
  const told = `80 of 100 ready within 30 s of simulated time, ${known.length} tools known after ${usableMs.toFixed(0)} ms, ${starts().total} starts`;
  figure('R12', { reached: up.length, of: 80, told, isMet: usableMs <= 2_000 });
});

/** A third each: cannot be started, never answers, dies after its start. */
function brokenServer(at: number, hanging: Promise<void>): MemoryServer {
  const server = new MemoryServer();
  if (at % 3 === 0) server.fault = new UpstreamFault('start', 'The program is not there.');
  if (at % 3 === 1) server.gate = hanging;
  if (at % 3 === 2)
    server.listTools = async () => {
      server.die();
      throw new UpstreamFault('exit', 'The process ended with code 1.');
    };
  return server;
}

test('2,000 tools with 5 kB of schema each are listed in one order, however their server orders them', {
  tags: ['R13'],
}, async () => {
  const random = createRandom(seed);
  const definitions = idsOf('tool', 2000).map(name => ({
    name,
    inputSchema: { type: 'object', properties: { text: { type: 'string', description: 'x'.repeat(5_000) } } },
  }));
  const lists: string[] = [];
  let ms = 0;
  for (let round = 0; round < 3; round++) {
    const many = new MemoryServer();
    const pages = random.shuffle(definitions);
    many.listTools = async ({ params }) => {
      const at = Number(params.cursor ?? 0);
      const next = at + 100;
      return {
        tools: pages.slice(at, next),
        ...(next < pages.length && { nextCursor: String(next) }),
      };
    };
    await using fixture = new GatewayFixture({
      connect: connectTo({ many }),
      config: configOf({ many: local() }),
    });
    const view = fixture.view(fixture.run());
    await view.tools();
    await settled();
    const text = async () => toolListText((await view.tools()) as unknown as ToolDef[], 'modern');
    lists.push((await text()).toString());
    const startedAt = performance.now();
    await text();
    ms = Math.max(ms, performance.now() - startedAt);
  }
  expect((JSON.parse(lists[0]!) as unknown[]).length).toBe(2000);
  expect(lists[1] === lists[0] && lists[2] === lists[0]).toBe(true);
  figure('R13', {
    reached: 2000,
    of: 2000,
    told: `2,000 tools, ${(lists[0]!.length / 1e6).toFixed(1)} MB, listed again in ${ms.toFixed(1)} ms, read in pages, in one order`,
    isMet: ms <= 100,
  });
});
