import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Output } from '../../src/operations/operations.ts';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { newerBuild } from '../support/newer-build.ts';
import { isAlive, TestSquad, until } from '../support/squad.ts';

type Report = Output<'inspect_cluster'> & { ok: boolean };

function squadOn(database: string, env: Record<string, string> = {}): TestSquad {
  const squad = new TestSquad({
    ...{ SQUAD_DATABASE_URL: database, ENGINE_COMMAND: 'scripted' },
    // Commands are slow on a busy machine, and a hub without clients would end.
    SQUAD_HUB_LINGER_MS: '600000',
    ...env,
  });
  onTestFinished(() => squad[Symbol.asyncDispose]());
  return squad;
}

const doctor = (squad: TestSquad) => squad.json<Report>(['doctor', '--cluster']);
const hubOf = ({ hubs }: Report, { home }: TestSquad) => hubs.find(hub => hub.home === home)!;

test('the doctor reports versions, clocks, answers and runs of all hubs, and those that are gone or hang', {
  tags: ['H7'],
}, async () => {
  const database = await newSchema();
  const [one, two] = [squadOn(database), squadOn(database)];
  await one.hubPid();
  const pid = await two.hubPid();
  const { runIds } = await two.json<{ runIds: string[] }>([
    ...['run', 'coder', '```script\nhang\n```', '--detach'],
  ]);
  await expect.poll(() => two.statusOf(runIds[0]!)).toBe('running');

  const well = await doctor(one);
  expect(well).toMatchObject({ ok: true, problems: [] });
  for (const [squad, isOwn] of [
    [one, true],
    [two, false],
  ] as const)
    expect(hubOf(well, squad)).toMatchObject({
      ...{ isOwn, isConnected: true, running: isOwn ? 0 : 1, queued: 0 },
      answer: { version: expect.any(String), clockAheadMs: expect.any(Number), tookMs: expect.any(Number) },
    });
  // One machine has one clock; an answer that took long measures it badly.
  const { clockAheadMs, tookMs } = hubOf(well, two).answer!;
  expect(Math.abs(clockAheadMs)).toBeLessThan(50 + tookMs);
  const { stdout, code } = await one.run(['doctor', '--cluster']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('No problems.')]);

  process.kill(pid, 'SIGSTOP');
  const hanging = await doctor(one).finally(() => process.kill(pid, 'SIGCONT'));
  expect(hubOf(hanging, two)).toMatchObject({ isConnected: true, answer: null });
  expect(hanging.problems).toMatchObject([{ message: expect.stringContaining('does not answer') }]);
  await expect.poll(async () => (await doctor(one)).ok).toBe(true);

  process.kill(pid, 'SIGKILL');
  await until('the hub is dead', () => !isAlive(pid));
  await expect.poll(async () => hubOf(await doctor(one), two).isConnected).toBe(false);
  const gone = await one.run(['doctor', '--cluster']);
  expect(gone.code).toBe(1);
  expect(gone.stdout).toContain('is not running, and 1 of its runs have not ended');
  expect(gone.stdout).toContain('squad hub start');
});

test('the metrics of each hub name it, and count the runs of all hubs', { tags: ['H7'] }, async () => {
  const database = await newSchema();
  const [one, two] = [squadOn(database), squadOn(database)];
  const { runIds } = await two.json<{ runIds: string[] }>([
    ...['run', 'coder', '```script\nhang\n```', '--detach'],
  ]);
  await expect.poll(() => two.statusOf(runIds[0]!)).toBe('running');
  const url = await until('the port', async () => {
    const status = await one.json<{ url: string | null }>(['hub', 'start']);
    return status.url;
  });
  const token = readFileSync(join(one.home, 'token'), 'utf8').trim();
  const scrape = async () => {
    const response = await fetch(new URL('/metrics', url), { headers: { Authorization: `Bearer ${token}` } });
    return response.text();
  };
  const metrics = await scrape();
  expect(metrics).toMatch(new RegExp(`^squad_runs\\{.*squad_hub="[^"]*:${one.home}".*\\} 0$`, 'm'));
  expect(metrics).toMatch(new RegExp(`^squad_hubs_connected\\{.*hub="[^"]*:${two.home}".*\\} 1$`, 'm'));
  expect(metrics).toMatch(
    new RegExp(`^squad_hubs_runs\\{.*hub="[^"]*:${two.home}",squad_run_state="running".*\\} 1$`, 'm'),
  );
});

// Another version is a whole build.
test('hubs of two versions are reported', { tags: ['H7'], timeout: 400_000 }, async () => {
  const database = await newSchema();
  const [one, two] = [squadOn(database), squadOn(database)];
  using newer = newerBuild('9.8.7');
  await one.hubPid();
  expect((await two.run(['hub', 'start'], { bin: newer.bin })).code).toBe(0);
  const { ok, problems } = await doctor(one);
  expect(ok).toBe(false);
  expect(problems).toMatchObject([
    { hub: null, message: expect.stringContaining(`9.8.7 (`), next: expect.stringContaining('newest') },
  ]);
  await two.run(['hub', 'stop'], { bin: newer.bin });
});

test('without PostgreSQL there is nothing to check, and without its server the reason is named', async () => {
  const alone = squadOn('');
  expect(await alone.run(['doctor', '--cluster'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('SQLite'),
  });
  const away = new URL(await newSchema());
  away.port = '1';
  expect(await squadOn(away.href).run(['doctor', '--cluster'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cannot be reached[\s\S]*DATABASE_UNREACHABLE/),
  });
});

/** In places where Squad gets or could keep secrets. */
const CANARIES = {
  ANTHROPIC_API_KEY: 'canary-api-key-1f2e3d',
  GITHUB_TOKEN: 'canary-github-4c5b6a',
  SERVER_SECRET: 'canary-server-7d8e9f',
};

test('no secret is in a row: keys, tokens, server secrets, the password of the database', {
  tags: ['H7'],
}, async () => {
  const database = await newSchema();
  const squad = squadOn(database, CANARIES);
  const echo = join(import.meta.dirname, '..', 'servers', 'echo.ts');
  const config = {
    servers: {
      echo: {
        ...{ command: process.execPath, args: [echo], tools: ['*'] },
        env: { SECRET: `\${SERVER_SECRET}` },
      },
    },
    shared: ['echo'],
  };
  squad.write('.squad/mcp-config.json', JSON.stringify(config));
  await squad.run(['trust', '-y']);
  const task = '```script\ncall echo__echo {"text": "hello"}\nask "Which one?"\nreport Done.\n```';
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', 'coder', task, '--detach']);
  const asked = async () => JSON.stringify(await squad.json(['inbox'])).match(/ask_\w{10}/)?.[0] ?? '';
  await expect.poll(asked).not.toBe('');
  await squad.json(['answer', await asked(), 'the first']);
  await expect.poll(() => squad.statusOf(runIds[0]!)).toBe('completed');
  // The same names in the open: the dump would show them.
  const marker = 'marker-in-the-open';
  await squad.run(['run', 'coder', `Say ${marker}`]);

  const dump = await dumpOf(database);
  expect(dump).toContain(marker);
  expect(dump).toContain('echo__echo');
  const identity = readFileSync(join(squad.home, 'token'), 'utf8').trim();
  for (const secret of [...Object.values(CANARIES), identity, 'squad:squad', database])
    expect({ secret, isThere: dump.includes(secret) }).toEqual({ secret, isThere: false });
});

/** Every row of every table of the schema. */
async function dumpOf(database: string): Promise<string> {
  const tables = await query(
    database,
    `select tablename as name from pg_tables where schemaname = current_schema()`,
  );
  const dumps: string[] = [];
  for (const { name } of tables) {
    const rows = await query(database, `select to_json(each)::text as row from ${name} as each`);
    dumps.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  return dumps.join('\n');
}
