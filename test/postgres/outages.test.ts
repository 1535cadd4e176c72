import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { query } from '../../src/store/fixtures/temp-database.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { TestSquad } from '../support/squad.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** A hub on a database of its own. */
async function newHub(name: string): Promise<{ squad: TestSquad; database: string; pid: number }> {
  await query(server.url, `create database ${name} template template0`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const squad = new TestSquad({
    ...{ SQUAD_DATABASE_URL: url.href, ENGINE_COMMAND: 'scripted' },
    // Commands are slow on a busy machine, and a hub without clients would end.
    SQUAD_HUB_LINGER_MS: '600000',
  });
  onTestFinished(() => squad[Symbol.asyncDispose]());
  return { squad, database: url.href, pid: await squad.hubPid() };
}

async function start(squad: TestSquad, task: string): Promise<string> {
  return (await squad.json<{ runIds: string[] }>(['run', 'coder', task, '--detach'])).runIds[0]!;
}

/** An error for people: its code, a next step on a line of its own, no password, no stack. */
function expectClear(stderr: string, code: string): void {
  expect(stderr).toContain(`(${code})`);
  expect(stderr.trim().split('\n').length).toBeGreaterThan(1);
  expect(stderr).not.toMatch(/squad:squad|\n +at |node:internal/);
}

test('a server whose disk is full: a clear error, agents run on, and all is well once there is space', {
  tags: ['H5'],
}, async () => {
  const { squad, database } = await newHub('filled');
  const go = `${squad.workspace}/go`;
  const running = await start(squad, `\`\`\`script\nawait ${go}\nreport done\n\`\`\``);
  await expect.poll(() => squad.statusOf(running)).toBe('running');
  // What the server says when it cannot extend a file.
  await query(
    database,
    `create function full_disk() returns trigger language plpgsql as $$ begin
       raise exception 'could not extend file: No space left on device' using errcode = '53100';
     end $$;
     create trigger full_disk before insert or update on runs execute function full_disk()`,
  );
  const refused = await squad.run(['run', 'coder', 'Say hello', '--detach']);
  expect(refused.code).toBe(1);
  expectClear(refused.stderr, 'DISK_FULL');
  squad.write('go', '');
  await query(database, 'drop trigger full_disk on runs');
  await expect.poll(() => squad.statusOf(running)).toBe('completed');
  const later = await start(squad, 'Say hello');
  await expect.poll(() => squad.statusOf(later)).toBe('completed');
});

test('a database that becomes read-only, and one whose user loses its rights: clear errors', {
  tags: ['H5'],
}, async () => {
  const { squad, database } = await newHub('limited');
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'squad home%'`;
  await query(database, 'alter database limited set default_transaction_read_only = on');
  await query(database, end);
  const readOnly = await squad.run(['run', 'coder', 'Say hello', '--detach']);
  expect(readOnly.code).toBe(1);
  expectClear(readOnly.stderr, 'PERMISSION_DENIED');
  expect(readOnly.stderr).toContain('read-only');
  // From another database, because this one is read-only.
  await query(server.url, 'alter database limited reset all');
  await query(database, end);
  const later = await start(squad, 'Say hello');
  await expect.poll(() => squad.statusOf(later)).toBe('completed');

  await squad.run(['hub', 'stop']);
  await query(database, `create role limited login password 'x'; grant usage on schema public to limited`);
  const url = new URL(database);
  [url.username, url.password] = ['limited', 'x'];
  const denied = await squad.run(['ls'], { env: { SQUAD_DATABASE_URL: url.href } });
  expect(denied.code).toBe(1);
  expectClear(denied.stderr, 'PERMISSION_DENIED');
});
