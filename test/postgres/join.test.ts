import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { databaseName } from '../../src/store/open.ts';
import { BIN, TestSquad } from '../support/squad.ts';

/** A home with SQLite. */
function newSquad(): TestSquad {
  const squad = new TestSquad({ SQUAD_DATABASE_URL: '', ENGINE_COMMAND: 'scripted' });
  onTestFinished(() => squad[Symbol.asyncDispose]());
  return squad;
}

async function start(squad: TestSquad, task: string): Promise<string> {
  return (await squad.json<{ runIds: string[] }>(['run', 'coder', task, '--detach'])).runIds[0]!;
}

const usedBy = async (squad: TestSquad) =>
  (await squad.json<{ database: string }>(['hub', 'start'])).database;

test('a home joins a database and leaves it again, and keeps its runs', { tags: ['H7'] }, async () => {
  const [squad, other] = [newSquad(), newSquad()];
  const database = await newSchema();
  const first = await start(squad, 'Say hello');
  await expect.poll(() => squad.statusOf(first)).toBe('completed');

  // Nothing is left behind without a word, and nothing has changed.
  const asked = await squad.run(['hub', 'join', database]);
  expect(asked).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('has 1 runs, which would not be moved'),
  });
  expect(asked.stderr).toContain('--move');
  expect(await usedBy(squad)).toBe(join(squad.home, 'squad.db'));

  const joined = await squad.run(['hub', 'join', '-', '--yes'], { input: `${database}\n` });
  expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining(databaseName(database)) });
  expect(joined.stdout).toContain('restores 1 runs from their folders');
  expect(joined.stdout + joined.stderr).not.toContain('squad:squad');
  expect(statSync(join(squad.home, 'database-url')).mode & 0o777).toBe(0o600);
  expect(await usedBy(squad)).toBe(databaseName(database));
  expect(await squad.statusOf(first)).toBe('completed');

  // A second home without runs just joins.
  expect((await other.run(['hub', 'join', database])).stdout).toContain('1 before');
  expect((await other.run(['ls', '--all', '--running'])).code).toBe(0);

  const second = await start(squad, '```script\nhang\n```');
  await expect.poll(() => squad.statusOf(second)).toBe('running');
  expect((await other.run(['ls', '--all', '--running'])).stdout).toContain(second);
  const elsewhere = await squad.run(['hub', 'join', await newSchema()]);
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('has joined') });
  const early = await squad.run(['hub', 'join', '--undo']);
  expect(early).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('1 runs of this home have not ended'),
  });
  await squad.run(['cancel', second]);
  const left = await squad.run(['hub', 'join', '--undo']);
  expect(left).toMatchObject({ code: 0, stdout: expect.stringContaining('squad.db again') });
  expect(await usedBy(squad)).toBe(join(squad.home, 'squad.db'));
  expect([await squad.statusOf(first), await squad.statusOf(second)]).toEqual(['completed', 'cancelled']);
  expect(await squad.run(['hub', 'join', '--undo'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has not joined a database'),
  });
});

test('a home moves everything when it joins an empty database', { tags: ['H7'] }, async () => {
  const squad = newSquad();
  const database = await newSchema();
  const run = await start(squad, 'Say hello');
  await expect.poll(() => squad.statusOf(run)).toBe('completed');
  await squad.set('limits.spawns_per_minute', '77');
  const moved = await squad.run(['hub', 'join', database, '--move']);
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringContaining('(1 runs)') });
  expect((await squad.run(['config', 'get', 'limits.spawns_per_minute'])).stdout).toContain('77');
  expect(await query(database, 'select id, status from runs')).toEqual([{ id: run, status: 'completed' }]);
});

test('a database that is not usable is refused before the hub is stopped', { tags: ['H7'] }, async () => {
  const squad = newSquad();
  // Commands are slow on a busy machine, and a hub without clients would end.
  squad.env.SQUAD_HUB_LINGER_MS = '600000';
  const pid = await squad.hubPid();
  const server = (change: (url: URL) => void) => {
    const url = new URL(inject('postgres')!);
    change(url);
    return url.href;
  };
  const newer = await newSchema();
  await newSquad().run(['db', 'migrate'], { env: { SQUAD_DATABASE_URL: newer } });
  await query(newer, `insert into migrations values ('999-new', 1, '9.9.9')`);
  const refused: [string, string][] = [
    [
      server(url => {
        url.port = '1';
      }),
      'DATABASE_UNREACHABLE',
    ],
    [
      server(url => {
        url.password = 'guess';
      }),
      'PERMISSION_DENIED',
    ],
    [
      server(url => {
        url.pathname = '/nothing';
      }),
      'DATABASE_FAILED',
    ],
    [
      server(url => url.searchParams.set('options', '-c default_transaction_read_only=on')),
      'PERMISSION_DENIED',
    ],
    [server(url => url.searchParams.set('options', '-c search_path=nowhere')), 'DATABASE_FAILED'],
    ['mysql://me:guess@127.0.0.1/squad', 'CONFIG_INVALID'],
    ['squad.db', 'CONFIG_INVALID'],
    [newer, 'DATABASE_TOO_NEW'],
  ];
  for (const [url, code] of refused) {
    const { code: exit, stderr, stdout } = await squad.run(['hub', 'join', url]);
    expect({ url, exit, stderr }).toMatchObject({
      exit: expect.any(Number),
      stderr: expect.stringContaining(`(${code})`),
    });
    expect(exit).not.toBe(0);
    expect(stderr + stdout).not.toMatch(/squad:squad|guess|\n +at /);
    // A next step on a line of its own.
    expect(stderr.trim().split('\n').length).toBeGreaterThan(1);
  }
  expect(await squad.hubPid()).toBe(pid);
});

test('an agent may not choose the database', { tags: ['H7'] }, async () => {
  const squad = newSquad();
  const database = await newSchema();
  const join = `'${process.execPath}' '${BIN}' hub join '${database}' --yes`;
  const task = `\`\`\`script\nrun ${join} 2>&1 || true\n\`\`\``;
  const { stdout } = await squad.run(['run', 'coder', task]);
  expect(stdout).toContain('NOT_ALLOWED');
});
