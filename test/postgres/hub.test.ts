import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { databaseName } from '../../src/store/open.ts';
import { isAlive, TestSquad, until } from '../support/squad.ts';

/** The user and password of the test server's URL. */
const SECRET = 'squad:squad';

function squadOn(database: string): TestSquad {
  const squad = new TestSquad({ SQUAD_DATABASE_URL: database });
  onTestFinished(() => squad[Symbol.asyncDispose]());
  return squad;
}

async function start(squad: TestSquad, task: string): Promise<string> {
  const args = ['run', 'coder', task, '--engine', 'scripted', '--detach'];
  return (await squad.json<{ runIds: string[] }>(args)).runIds[0]!;
}

test('a run, its output and settings are there for the next hub, and no SQLite file is made', {
  tags: ['H5'],
}, async () => {
  const database = await newSchema();
  const squad = squadOn(database);
  const id = await start(squad, '```script\nsay Grüße ✓\nask Which one?\nreport done 😀\n```');
  const asked = async () => JSON.stringify(await squad.json(['inbox'])).match(/ask_\w{10}/)?.[0] ?? '';
  await expect.poll(asked).not.toBe('');
  await squad.json(['answer', await asked(), 'the first']);
  await expect.poll(() => squad.statusOf(id)).toBe('completed');
  await squad.json(['config', 'set', 'limits.spawns_per_minute', '77']);
  const before = await squad.json(['show', id]);
  expect((await squad.run(['hub', 'stop'])).code).toBe(0);
  expect(await squad.json(['show', id])).toEqual(before);
  expect((await squad.run(['log', id])).stdout).toContain('Grüße ✓');
  expect((await squad.run(['config', 'get', 'limits.spawns_per_minute'])).stdout).toContain('77');
  expect(existsSync(join(squad.home, 'squad.db'))).toBe(false);
  expect(await query(database, 'select status from runs')).toEqual([{ status: 'completed' }]);
  const shown = await squad.run(['hub', 'status']);
  expect(shown.stdout).toContain(databaseName(database));
  const log = readFileSync(join(squad.home, 'hub.log'), 'utf8');
  expect(shown.stdout + log).not.toContain(SECRET);
  expect((await squad.run(['doctor'])).stdout).toContain(databaseName(database));
});

test('two hubs on one database: each runs and recovers its own runs, also when one was killed, and cancels those of the other', {
  tags: ['H6', 'H7'],
}, async () => {
  const database = await newSchema();
  const [one, two] = [squadOn(database), squadOn(database)];
  const go = join(one.workspace, 'go');
  const script = `\`\`\`script\nsay half\nask Which one?\nawait ${go}\nreport done\n\`\`\``;
  const first = await start(one, script);
  const asked = async () => JSON.stringify(await one.json(['inbox'])).match(/ask_\w{10}/)?.[0] ?? '';
  await expect.poll(asked).not.toBe('');
  const second = await start(two, 'Say hello');
  await expect.poll(() => two.statusOf(second)).toBe('completed');

  expect((await two.run(['ls', '--all', '--running'])).stdout).toContain(first);
  const elsewhere = await two.run(['attach', first]);
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`hub of ${one.home} on `) });
  expect(elsewhere.stderr).toContain('(RUN_ELSEWHERE)');
  await two.json(['config', 'set', 'limits.spawns_per_minute', '77']);
  const limit = async () => (await one.run(['config', 'get', 'limits.spawns_per_minute'])).stdout;
  await expect.poll(limit).toContain('77');

  // The next hub of the second home finds nothing to recover. The first hub is killed and recovers its run.
  await two.run(['hub', 'stop']);
  await two.hubPid();
  expect(await two.statusOf(second)).toBe('completed');
  expect(await query(database, `select status from runs where id = '${first}'`)).toEqual([
    { status: 'running' },
  ]);
  const pid = await one.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is dead', () => !isAlive(pid));
  expect(await one.statusOf(first)).toBe('running');
  await one.json(['answer', await asked(), 'the first']);
  writeFileSync(go, '');
  await expect.poll(() => one.statusOf(first)).toBe('completed');

  // A request that the owner did not hear, because it was dead, is carried out by its next hub.
  const [heard, unheard] = [await start(one, HANG), await start(one, HANG)];
  await expect.poll(() => one.statusOf(unheard)).toBe('running');
  expect((await two.run(['cancel', heard])).code).toBe(0);
  expect(await one.statusOf(heard)).toBe('cancelled');
  expect(JSON.stringify(await one.shown(heard))).toContain('Cancelled by a terminal');
  const last = await one.hubPid();
  process.kill(last, 'SIGKILL');
  await until('the hub is dead', () => !isAlive(last));
  const [cancelled, waited] = [two.json(['cancel', unheard]), two.json(['wait', unheard])];
  const requests = () => query(database, `select * from stop_requests where run_id = '${unheard}'`);
  await expect.poll(requests).toHaveLength(1);
  await one.hubPid();
  expect(JSON.stringify(await cancelled)).toContain('"status":"cancelled"');
  expect(JSON.stringify(await waited)).toContain('"status":"cancelled"');
});

/** A task whose agent never ends. */
const HANG = '```script\nhang\n```';

test('a database that cannot be reached, and a URL that is none, are refused without the password', {
  tags: ['H5'],
}, async () => {
  const away = new URL(await newSchema());
  away.port = '1';
  const refused = await squadOn(away.href).run(['ls']);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be reached') });
  const wrong = await squadOn('mysql://squad:squad@127.0.0.1/squad').run(['ls']);
  expect(wrong.stderr).toContain('SQUAD_DATABASE_URL is not the URL of a PostgreSQL database');
  expect(refused.stderr + wrong.stderr).not.toContain(SECRET);
});

test('a home moves from SQLite to PostgreSQL with its runs, questions and settings, and does not fall back', {
  tags: ['H5'],
}, async () => {
  const database = await newSchema();
  const squad = new TestSquad({ SQUAD_DATABASE_URL: '' });
  onTestFinished(() => squad[Symbol.asyncDispose]());
  const go = join(squad.workspace, 'go');
  const done = await start(squad, 'Say hello');
  const asking = await start(squad, `\`\`\`script\nask Which one?\nawait ${go}\nreport done\n\`\`\``);
  await expect.poll(() => squad.statusOf(done)).toBe('completed');
  const inbox = () => squad.json<{ items: unknown[] }>(['inbox']);
  await expect.poll(async () => JSON.stringify(await inbox())).toContain('Which one?');
  await squad.json(['config', 'set', 'limits.spawns_per_minute', '77']);
  const before = await squad.json(['show', done]);
  const question = JSON.stringify(await inbox()).match(/ask_\w{10}/)![0];

  const onPostgres = { env: { SQUAD_DATABASE_URL: database } };
  const running = await squad.run(['db', 'move'], onPostgres);
  expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining('squad hub stop') });
  await squad.run(['hub', 'stop']);
  const unset = await squad.run(['db', 'move']);
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('SQUAD_DATABASE_URL is not set') });
  const migrated = await squad.json<{ applied: string[] }>(['db', 'migrate'], onPostgres);
  expect(migrated.applied).toContain('001-runs-and-events');
  const moved = await squad.json<{ rows: Record<string, number> }>(['db', 'move'], onPostgres);
  expect(moved.rows).toMatchObject({ runs: 2, squads: 2, inbox: 1 });
  const again = await squad.run(['db', 'move'], onPostgres);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty') });

  squad.env.SQUAD_DATABASE_URL = database;
  expect(await squad.json(['show', done])).toEqual(before);
  expect((await squad.run(['config', 'get', 'limits.spawns_per_minute'])).stdout).toContain('77');
  await squad.json(['answer', question, 'the first']);
  writeFileSync(go, '');
  await expect.poll(() => squad.statusOf(asking)).toBe('completed');
  await squad.run(['hub', 'stop']);
  const without = await squad.run(['ls'], { env: { SQUAD_DATABASE_URL: '' } });
  expect(without).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('SQUAD_DATABASE_URL is not set'),
  });
});
