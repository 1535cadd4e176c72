import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { figure } from '../../test/faults/figures.ts';
import { realTimers } from '../base/clock.ts';
import { createServiceTags } from '../process/programs/service.ts';
import { createProcessTable } from '../process/table/process-table.ts';
import { isAlive, until } from '../process/testing/turn-fixture.ts';
import { firstText, GatewayFixture, local, plainRequest, refusalOf } from './testing/gateway-fixture.ts';
import { createConnect } from './upstream/connect.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-gateway-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = fileURLToPath(new URL('./testing/program-server.ts', import.meta.url));
const tags = createServiceTags(folder);
let count = 0;

function setUp(more: Record<string, unknown> = {}, secret = 'nothing-to-hide') {
  const notes = join(folder, `notes-${count++}`);
  writeFileSync(notes, '');
  const server = local({
    command: process.execPath,
    args: [program],
    env: { NOTES: notes, TOKEN: secret },
    timeout: 20_000,
    ...more,
  });
  const fixture = new GatewayFixture({
    connect: createConnect({
      table: createProcessTable(),
      nextTag: tags.next,
      clientInfo: { name: 'squad', version: '0' },
    }),
    config: {
      servers: { first: server, second: { ...server, env: { TOKEN: 'another-secret' } } },
      shared: ['first', 'second'],
    },
    timers: realTimers,
    workspace: folder,
  });
  const statusOf = async (id: string) =>
    (await fixture.gateway.status(null)).find(({ server }) => server === id)!;
  return {
    fixture,
    statusOf,
    noted: () =>
      readFileSync(notes, 'utf8')
        .split('\n')
        .filter(line => line !== ''),
  };
}

const note = (nonce: string, more: Record<string, unknown> = {}) => ({ arguments: { nonce, ...more } });

test('many runs call one process at once, each gets its own answer, and closing leaves no process', async () => {
  const { fixture, statusOf } = setUp();
  const views = Array.from({ length: 20 }, () => fixture.view(fixture.run()));
  expect(await views[0]!.tools()).toHaveLength(4);
  const nonces = views.flatMap((view, run) =>
    Array.from({ length: 50 }, (_, at) => ({ view, nonce: `${run}/${at}`, delay: (at * 3) % 7 })),
  );
  const answers = await Promise.all(
    nonces.map(async ({ view, nonce, delay }) =>
      firstText(await view.call('first__note', note(nonce, { delay }), plainRequest())),
    ),
  );
  expect(answers).toEqual(nonces.map(({ nonce }) => nonce));
  const { pid, calls, restarts } = await statusOf('first');
  expect({ calls, restarts }).toEqual({ calls: 1_000, restarts: 0 });
  await fixture.gateway.close();
  expect(isAlive(pid!)).toBe(false);
}, 60_000);

test('a process that dies in the middle of its answer: said at once, carried out once, never repeated', async () => {
  const { fixture, noted } = setUp({ cooldown: 1_000 });
  await using _ = fixture;
  const view = fixture.view(fixture.run());
  const other = fixture.view(fixture.run());
  await view.tools();
  const long = other.call('first__note', note('long', { delay: 60_000 }), plainRequest());
  await until(() => noted().includes('long'), 'the long call');
  for (const [at, die] of ['before', 'mid-frame'].entries()) {
    const text = firstText(await view.call('first__note', note(`dying-${at}`, { die }), plainRequest()));
    expect(text).toMatch(/not known whether the call was carried out; it was not repeated/);
    expect((await view.tools()).map(({ name }) => name)).toEqual(['second__note', 'second__other']);
    expect(view.notice()).toMatch(/first/);
    await until(async () => (await view.tools()).length === 4, 'all tools');
  }
  expect(firstText(await long)).toMatch(/not repeated/);
  expect(noted()).toEqual(['long', 'dying-0', 'dying-1']);
  expect(firstText(await view.call('first__note', note('after'), plainRequest()))).toBe('after');
}, 60_000);

test('a process that hangs is unhealthy until it answers a probe, and is the same process then', {
  tags: ['R19'],
  timeout: 60_000,
}, async () => {
  const { fixture, statusOf } = setUp({ timeout: 2_000 });
  await using _ = fixture;
  const view = fixture.view(fixture.run());
  await view.tools();
  await until(async () => (await view.tools()).length === 4, 'all tools');
  const { pid } = await statusOf('first');
  const answered = (nonce: string) =>
    until(
      async () => firstText(await view.call('first__note', note(nonce), plainRequest())) === nonce,
      'an answer',
    );
  const told =
    /^The server first is unavailable: No answer to tools\/call within the time limit\. It is being tried again now\. Still there for your role: second \(second__note, second__other\)\..*not known whether/;
  const long = await view.call('first__note', note('long', { delay: 5_000 }), plainRequest());
  expect(refusalOf(long).message).toMatch(told);
  await answered('after the long one');
  process.kill(pid!, 'SIGSTOP');
  const stuck = view.call('first__note', note('stuck'), plainRequest());
  expect(firstText(await view.call('second__note', note('well'), plainRequest()))).toBe('well');
  expect(refusalOf(await stuck).message).toMatch(told);
  expect(await statusOf('first')).toMatchObject({ health: 'checking', upSince: null, failures: 2 });
  // It answers the question whether it is well before anybody has lost patience.
  process.kill(pid!, 'SIGCONT');
  await answered('again');
  expect(await statusOf('first')).toMatchObject({
    ...{ pid, restarts: 0, health: 'up', fault: null, lastFault: { message: expect.any(String) } },
  });
  figure('R19', {
    reached: 1,
    of: 1,
    told: 'only calls of the stopped process failed; the same process recovered',
  });
});

test('a process that is busy for 2.5 s within its time limit is not taken for one that hangs', {
  tags: ['R19'],
  timeout: 60_000,
}, async () => {
  const { fixture, statusOf } = setUp({ timeout: 20_000 });
  await using _ = fixture;
  const view = fixture.view(fixture.run());
  await view.tools();
  const call = (nonce: string, delay: number) =>
    view.call('first__note', note(nonce, { delay }), plainRequest());
  const [busy, other] = await Promise.all([call('busy', 2_500), call('other', 0)]);
  expect([firstText(busy), firstText(other)]).toEqual(['busy', 'other']);
  expect(await statusOf('first')).toMatchObject({ health: 'up', failures: 0, restarts: 0 });
  figure('R19', { reached: 1, of: 1, told: 'a call of 2.5 s was answered, and its server stayed up' });
});

test('a program that is not there is said once and not tried for ever; the others work', async () => {
  const { fixture, statusOf } = setUp();
  await using _ = fixture;
  fixture.reconfigure({
    servers: {
      first: local({ command: join(folder, 'nothing-here') }),
      second: local({ command: process.execPath, args: [program] }),
    },
    shared: ['first', 'second'],
  });
  const view = fixture.view(fixture.run());
  expect((await view.tools()).map(({ name }) => name)).toEqual(['second__note', 'second__other']);
  expect(await statusOf('first')).toMatchObject({
    health: 'unusable',
    retryAt: null,
    fault: expect.stringContaining('not found'),
  });
});

test('output of a process before its end is in its fault, but never a secret', async () => {
  const { fixture, statusOf } = setUp({}, 'sesame-open-4711');
  await using _ = fixture;
  const view = fixture.view(fixture.run());
  await view.tools();
  await view.call('first__note', note('x', { die: 'before' }), plainRequest());
  const { fault } = await statusOf('first');
  expect(fault).toContain('started with [secret');
  expect(JSON.stringify([fault, view.notice(), fixture.audit])).not.toContain('sesame');
});

test('a server of its own for each run is a process of its own, and ends with its run', {
  tags: ['B6'],
  timeout: 60_000,
}, async () => {
  const { fixture } = setUp({ instance: 'per-agent' });
  await using _ = fixture;
  const [one, two] = [fixture.run(), fixture.run()];
  await Promise.all([fixture.view(one).tools(), fixture.view(two).tools()]);
  const pids = async () => (await fixture.gateway.status(null)).map(({ pid }) => pid!).filter(Boolean);
  await until(async () => (await pids()).length === 4, 'four processes');
  const before = await pids();
  expect(new Set(before).size).toBe(4);
  fixture.gateway.release(one.id);
  await until(() => before.filter(isAlive).length === 2, 'the end of two processes');
  expect((await pids()).every(isAlive)).toBe(true);
});

test('a look at the tools of a role starts what is needed and lets it go', async () => {
  const { fixture } = setUp();
  await using _ = fixture;
  const { tools, faults } = await fixture.gateway.toolsOf(folder, 'coder', [], {});
  expect(tools.map(({ name, isVisible }) => `${name} ${isVisible}`)).toEqual(
    ['first__note', 'first__other', 'second__note', 'second__other'].map(name => `${name} true`),
  );
  expect(faults).toEqual([]);
  expect((await fixture.gateway.status(folder)).map(({ runs }) => runs)).toEqual([0, 0]);
});
