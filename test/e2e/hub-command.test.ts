import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { HANDSHAKE, RawMcp } from '../support/raw-mcp.ts';
import { isAlive, TestSquad, until } from '../support/squad.ts';

interface Status {
  running: boolean;
  pid: number;
  home: string;
  socket: string;
  database: string;
  url: string | null;
  tokenFile: string;
  version: string;
  runsActive: number;
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('hub start, status and stop say what is so, to people and to programs, in words and in exit codes', async () => {
  await using squad = new TestSquad();
  const none = await squad.run(['hub', 'status']);
  expect(none).toMatchObject({ code: 1, stderr: '' });
  expect(none.stdout).toContain(`No hub runs for ${squad.home}`);
  const noneJson = await squad.run(['hub', 'status', '--json']);
  expect([noneJson.code, JSON.parse(noneJson.stdout)]).toEqual([1, { running: false, home: squad.home }]);
  expect(existsSync(squad.home)).toBe(false);

  const started = await squad.run(['hub', 'start', '--json']);
  expect(started).toMatchObject({ code: 0, stderr: '' });
  const status: Status = JSON.parse(started.stdout);
  expect(status).toMatchObject({
    running: true,
    home: squad.home,
    socket: join(squad.home, 'hub.sock'),
    database: join(squad.home, 'squad.db'),
    tokenFile: join(squad.home, 'token'),
    version: JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')).version,
    runsActive: 0,
  });
  expect(isAlive(status.pid)).toBe(true);
  expect(await squad.hubPid(), 'a second start finds the first').toBe(status.pid);
  const words = await squad.run(['hub', 'status']);
  expect(words.code).toBe(0);
  expect(words.stdout).toContain(`pid ${status.pid}`);

  expect(await squad.json(['hub', 'stop'])).toEqual({ stopped: true, pid: status.pid, runsGoOn: 0 });
  expect(isAlive(status.pid)).toBe(false);
  expect(await squad.run(['hub', 'stop'])).toMatchObject({ code: 0, stdout: 'No hub runs.\n' });
  expect(await squad.json(['hub', 'stop'])).toEqual({ stopped: false });
  expect(await squad.run(['hub', 'sing'])).toMatchObject({ code: 2, stdout: '' });
});

test('hub log shows the end of the log, as much as asked for', async () => {
  await using squad = new TestSquad();
  const file = join(squad.home, 'hub.log');
  expect(await squad.run(['hub', 'log'])).toMatchObject({ code: 0, stdout: `Nothing in ${file} yet.\n` });
  const pid = await squad.hubPid();
  await squad.run(['hub', 'stop']);
  const all = await squad.json<{ file: string; lines: string[] }>(['hub', 'log']);
  expect(all.file).toBe(file);
  expect(all.lines[0]).toMatch(new RegExp(`^\\S+Z info +Hub .* started, pid ${pid}$`));
  const { stdout } = await squad.run(['hub', 'log', '-n', '1']);
  expect(stdout.trimEnd().split('\n')).toEqual([expect.stringContaining('stops: asked to by')]);
});

test('hubs of two homes know nothing of each other', async () => {
  await using one = new TestSquad();
  await using two = new TestSquad();
  const [first, second] = [await one.hubPid(), await two.hubPid()];
  expect(first).not.toBe(second);
  await one.run(['run', 'coder', 'task', '--engine', 'scripted']);
  expect(await one.json(['ls', '--all'])).toMatchObject({ runs: [{ roleId: 'coder' }] });
  expect(await two.json(['ls', '--all'])).toMatchObject({ runs: [] });
  await one.run(['hub', 'stop']);
  expect(isAlive(second)).toBe(true);
});

test('a home too deep for a socket gets a short one, the same for every client whatever its TMPDIR', async () => {
  const squad = new TestSquad();
  const home = join(squad.root, 'd'.repeat(60), 'e'.repeat(60));
  mkdirSync(join(squad.root, 'other'));
  await using deep = Object.assign(squad, { home });
  deep.env.SQUAD_HOME = home;
  const { socket, pid } = await deep.json<Status>(['hub', 'start']);
  expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
  expect(mode(dirname(socket))).toBe('700');
  expect(mode(socket)).toBe('600');
  const elsewhere = await deep.json<Status>(['hub', 'start'], { env: { TMPDIR: join(deep.root, 'other') } });
  expect(elsewhere.pid).toBe(pid);
  await deep.run(['hub', 'stop']);
  expect(existsSync(socket)).toBe(false);
});

test('everything in the home is for its owner only, also under a generous umask', async () => {
  await using squad = new TestSquad();
  const before = process.umask(0);
  try {
    const { code } = await squad.run(['run', 'coder', 'task', '--engine', 'scripted']);
    expect(code).toBe(0);
    await squad.run(['install', 'cursor', '--yes']);
  } finally {
    process.umask(before);
  }
  await until('the token is there', () => existsSync(join(squad.home, 'token')));
  expect(mode(squad.home)).toBe('700');
  for (const name of ['hub.sock', 'hub.lock', 'hub.log', 'token', 'env', 'squad.db', 'squad.db-wal'])
    expect([name, mode(join(squad.home, name))]).toEqual([name, '600']);
  const runs = join(squad.home, 'runs');
  const found = readdirSync(runs, { recursive: true, withFileTypes: true });
  expect(found.filter(entry => entry.isFile()).length).toBeGreaterThan(3);
  for (const entry of found) {
    // The shell around the agent writes these two with the umask that the agent is to have; the folder guards them.
    if (entry.name === 'pid' || entry.name === 'exit') continue;
    const path = join(entry.parentPath, entry.name);
    expect([path, mode(path)]).toEqual([path, entry.isDirectory() ? '700' : '600']);
  }
});

test('a home that was left open to others is closed before anything is put into it', async () => {
  await using squad = new TestSquad();
  mkdirSync(squad.home, { mode: 0o777 });
  await squad.hubPid();
  expect(mode(squad.home)).toBe('700');
});

test("a client's secrets do not become the hub's", async () => {
  await using squad = new TestSquad();
  const { pid } = await squad.json<Status>(['hub', 'start'], { env: { OPENAI_API_KEY: 'sk-secret-of-one' } });
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
  expect(environment).toContain('SQUAD_HOME=');
  expect(environment).not.toContain('sk-secret-of-one');
});

test('a home that cannot be one is an error with a next step, in the terminal and in a client', async () => {
  await using squad = new TestSquad();
  const env = { SQUAD_HOME: squad.write('file', '') };
  const { code, stderr } = await squad.run(['ls'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^squad: .*file cannot be made: .*\(HOME_UNUSABLE\)\n {2}Set SQUAD_HOME/);
  const client = new RawMcp(squad, { env });
  const { error } = await client.ask('initialize', HANDSHAKE);
  expect(error).toMatchObject({
    message: expect.stringMatching(/Set SQUAD_HOME/),
    data: { code: 'HOME_UNUSABLE' },
  });
  expect(await client.close()).toMatchObject({ code: 1, stderr: expect.stringContaining('HOME_UNUSABLE') });
});
