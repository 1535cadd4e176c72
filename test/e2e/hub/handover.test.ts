import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Build, newerBuild } from '../../support/newer-build.ts';
import { HANDSHAKE, RawMcp } from '../../support/raw-mcp.ts';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

interface Status {
  running: boolean;
  pid: number;
  version: string;
  successor: string | null;
  clients: number;
  url: string | null;
}

const newer: Build = newerBuild('99.0.0');
afterAll(() => newer[Symbol.dispose]());

let squad: TestSquad;
beforeEach(() => {
  squad = new TestSquad();
  squad.asProcesses = true;
  return () => squad[Symbol.asyncDispose]();
});

const status = () => squad.json<Status>(['hub', 'status']);
const hubIsNew = () =>
  until('the newer hub is there', async () => (await status()).version === newer.version);

test('a newer command is served at once, by a hub of its own version, and clients of the old one go on', async () => {
  const clients = [await squad.client(), await squad.client({ modern: true })];
  const before = await status();
  const first = await squad.json<Status>(['hub', 'start'], { bin: newer.bin });
  expect(first).toMatchObject({ running: true, version: newer.version });
  expect(isAlive(before.pid)).toBe(false);
  for (const client of clients)
    expect(await callTool(client, 'list_running')).toEqual({ agents: [], count: 0 });
  expect(await status()).toMatchObject({ version: newer.version, pid: first.pid });
});

test('a newer client is served at once, and the hub it ends up with has kept the port', {
  tags: ['D9', 'S10'],
}, async () => {
  const url = await until('the port is bound', async () => (await squad.json<Status>(['hub', 'start'])).url);
  const client = await squad.client({ bin: newer.bin });
  expect(client.getServerVersion()?.version).toBe(newer.version);
  await until('the port is bound again', async () => (await status()).url === url);
});

test('the old hub makes way only when no call is in flight; the newer client is served meanwhile', async () => {
  const go = join(squad.workspace, 'go');
  const old = await RawMcp.legacy(squad, { env: { ENGINE_COMMAND: 'scripted' } });
  const task = `\`\`\`script\nawait ${go}\nreport done\n\`\`\``;
  const waiting = old.call('start_squad_members', { members: [{ roleId: 'coder', task }] });
  const { pid } = await until('the call is in flight', async () => {
    const { runs } = await squad.json<{ runs: { status: string }[] }>(['ls', '--all']);
    return runs[0]?.status === 'running' ? status() : null;
  });

  const fresh = await squad.client({ bin: newer.bin });
  expect(fresh.getServerVersion()?.version).not.toBe(newer.version);
  expect(await callTool(fresh, 'list_running')).toMatchObject({ count: 1 });
  expect(await status()).toMatchObject({ pid, successor: newer.version });
  expect(old.answers(waiting)).toEqual([]);

  writeFileSync(go, '');
  expect(await old.told(waiting)).toMatchObject({ members: [{ status: 'completed', rawStdout: 'done' }] });
  await hubIsNew();
  expect(isAlive(pid)).toBe(false);
  expect(await callTool(fresh, 'list_running')).toMatchObject({ count: 0 });
  expect(await old.told(old.call('list_running'))).toMatchObject({ count: 0 });
  expect(old.answers(1)).toHaveLength(1);
});

test('nothing that is asked while hubs change is lost, refused or done twice', {
  tags: ['S10'],
}, async () => {
  const old = await RawMcp.legacy(squad, { env: { ENGINE_COMMAND: 'scripted' } });
  await squad.unlimited();
  // It stays: a hub makes way only while somebody is there to start the next one.
  const change = squad.client({ bin: newer.bin });
  const ids: number[] = [];
  const member = { roleId: 'coder', task: '```script\nreport once\n```' };
  for (let isOver = false; !isOver && ids.length < 100; ) {
    const id = old.call(
      ids.length % 5 === 4 ? 'start_squad_members' : 'list_running',
      ids.length % 5 === 4 ? { members: [member] } : {},
    );
    ids.push(id);
    // Not every one is waited for: some are on their way when the hub goes.
    if (ids.length % 3 === 0) await old.answer(id);
    isOver = await Promise.race([change.then(() => true), Promise.resolve(false)]);
  }
  const answers = await Promise.all(ids.map(id => old.answer(id)));
  expect(answers.filter(({ error }) => error)).toEqual([]);
  const starts = ids.filter((_, i) => i % 5 === 4).length;
  expect(starts).toBeGreaterThan(0);
  const { runs } = await squad.json<{ runs: object[] }>(['ls', '--all', '--limit', '1000']);
  expect(runs).toHaveLength(starts);
  expect(old.messages).toHaveLength(ids.length + 1);
  await hubIsNew();
});

test('an older client or command leaves a newer hub alone', { tags: ['S10'] }, async () => {
  const { pid } = await squad.json<Status>(['hub', 'start'], { bin: newer.bin });
  const client = await squad.client();
  expect(client.getServerVersion()?.version).toBe(newer.version);
  expect(await status()).toMatchObject({ pid, version: newer.version, successor: null });
});

test('a database from a newer version is an error that says so, to clients and in the terminal, and is left alone', {
  tags: ['S10'],
}, async () => {
  const client = await RawMcp.legacy(squad);
  await squad.run(['run', 'coder', 'x', '--engine', 'scripted']);
  await squad.run(['hub', 'stop']);
  const database = new BetterSqlite3(join(squad.home, 'squad.db'));
  const rows = () => database.prepare('select name, version from migrations order by name').all();
  database.prepare("insert into migrations values ('999-later', 0, '99.0.0')").run();
  const before = rows();

  const words = /DATABASE_TOO_NEW.*was changed by a newer Squad \(99\.0\.0\).*Upgrade Squad/;
  const { error } = await client.answer(client.call('list_running'));
  expect(error).toMatchObject({ message: expect.stringMatching(words), data: { code: 'DATABASE_TOO_NEW' } });
  const fresh = new RawMcp(squad);
  const refused = await fresh.ask('initialize', HANDSHAKE);
  expect(refused.error).toMatchObject({
    message: expect.stringMatching(words),
    data: { code: 'DATABASE_TOO_NEW' },
  });
  const terminal = await squad.run(['ls']);
  expect(terminal).toMatchObject({ code: 1, stderr: expect.stringContaining('(DATABASE_TOO_NEW)') });
  expect((await squad.json<{ lines: string[] }>(['hub', 'log'])).lines.join('\n')).toContain(
    'was changed by a newer Squad',
  );
  expect(rows()).toEqual(before);

  // Once the database is repaired, the same client continues.
  database.prepare("delete from migrations where name = '999-later'").run();
  database.close();
  expect(await client.told(client.call('list_running'))).toMatchObject({ count: 0 });
  expect(await client.close()).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('DATABASE_TOO_NEW'),
  });
  expect((await fresh.close()).code).toBe(1);
});
