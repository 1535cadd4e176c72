import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import { HANDSHAKE, RawMcp } from '../../support/raw-mcp.ts';
import { BIN, callTool, isAlive, TestSquad, until } from '../../support/squad.ts';
import { Subagents } from '../../support/subagents.ts';

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
  squad.sharesCompiled = false;
  const none = await squad.run(['hub', 'status']);
  expect(none).toMatchObject({ code: 1, stderr: '' });
  expect(none.stdout).toContain(`No hub is running for ${squad.home}`);
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
    version: JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')).version,
    runsActive: 0,
  });
  expect(isAlive(status.pid)).toBe(true);
  expect(await squad.hubPid(), 'a second start finds the first').toBe(status.pid);
  const words = await squad.run(['hub', 'status']);
  expect(words.code).toBe(0);
  expect(words.stdout).toContain(`pid ${status.pid}`);

  expect(await squad.json(['hub', 'stop'])).toEqual({
    ...{ stopped: true, pid: status.pid },
    ...{ runsGoOn: 0, callsEnd: 0 },
  });
  expect(isAlive(status.pid)).toBe(false);
  expect(await squad.run(['hub', 'stop'])).toMatchObject({ code: 0, stdout: 'No hub is running.\n' });
  expect(await squad.json(['hub', 'stop'])).toEqual({ stopped: false });
  expect(await squad.run(['hub', 'sing'])).toMatchObject({ code: 2, stdout: '' });
});

test('a stop says how many runs go on without it', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const stopped = async (...words: string[]) => {
    await squad.run(['run', '-d', ...words]);
    return (await squad.run(['hub', 'stop'])).stdout;
  };
  const waits = 'Wait.\n```script\nhang\n```';
  expect(await stopped('coder', waits)).toMatch(
    /\n1 run continues without it; the next command reconnects to it\.\n$/,
  );
  expect(await stopped('coder', waits)).toMatch(
    /\n2 runs continue without it; the next command reconnects to them/,
  );
});

test('a stop says how many calls of subagents end with it, beside the runs that go on', async () => {
  await using subagents = await Subagents.start({ ENGINE_COMMAND: 'scripted' });
  const { squad, model } = subagents;
  subagents.write('worker');
  const client = await subagents.client('worker');
  const hang = async (tag: string) => {
    client.call('worker', { prompt: mock([{ hang: 'stream' }], tag) });
    await model.waitForRequest(request => request.tag === tag);
  };
  await hang('first');
  expect((await squad.run(['hub', 'stop'])).stdout).toMatch(
    /^Stopped the hub .*\n1 subagent call was stopped with it\.\n$/,
  );
  await squad.run(['run', '-d', 'coder', 'Wait.\n```script\nhang\n```']);
  await hang('second');
  await hang('third');
  expect(await squad.json(['hub', 'stop'])).toMatchObject({ stopped: true, runsGoOn: 1, callsEnd: 2 });
  await client.close();
});

test('hub log shows the end of the log, as much as asked for', async () => {
  await using squad = new TestSquad();
  const file = join(squad.home, 'hub.log');
  expect(await squad.run(['hub', 'log'])).toMatchObject({ code: 0, stdout: `${file} is empty.\n` });
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

test('everything in the home is for its owner only, also under a generous umask', {
  tags: ['S1'],
}, async () => {
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

test('a home that was left open to others is closed before anything is put into it', {
  tags: ['S1'],
}, async () => {
  await using squad = new TestSquad();
  mkdirSync(squad.home, { mode: 0o777 });
  await squad.hubPid();
  expect(mode(squad.home)).toBe('700');
});

test("a client's secrets do not become the hub's", { tags: ['S4'] }, async () => {
  await using squad = new TestSquad();
  const { pid } = await squad.json<Status>(['hub', 'start'], { env: { OPENAI_API_KEY: 'sk-secret-of-one' } });
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
  expect(environment).toContain('SQUAD_HOME=');
  expect(environment).not.toContain('sk-secret-of-one');
});

test('a home that cannot be one is an error with a next step, in the terminal and in a client', async () => {
  await using squad = new TestSquad();
  for (const SQUAD_HOME of ['/dev/null/x', '/proc/x/y'])
    for (const args of [['ls'], ['hub', 'start']]) {
      const ran = await squad.run(args, { env: { SQUAD_HOME } });
      expect([args, ran.code, ran.stdout]).toEqual([args, 1, '']);
      expect(ran.stderr).toMatch(
        new RegExp(`^squad: ${SQUAD_HOME} cannot be created: .*\\(HOME_UNUSABLE\\)\\n {2}Set SQUAD_HOME`),
      );
    }
  const status = await squad.run(['hub', 'status'], { env: { SQUAD_HOME: '/dev/null/x' } });
  expect([status.code, status.stderr]).toEqual([1, expect.stringContaining('HOME_UNUSABLE')]);
  const env = { SQUAD_HOME: squad.write('file', '') };
  const { code, stderr } = await squad.run(['ls'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^squad: .*file cannot be created: .*\(HOME_UNUSABLE\)\n {2}Set SQUAD_HOME/);
  const client = new RawMcp(squad, { env });
  const { error } = await client.ask('initialize', HANDSHAKE);
  expect(error).toMatchObject({
    message: expect.stringMatching(/Set SQUAD_HOME/),
    data: { code: 'HOME_UNUSABLE' },
  });
  expect(await client.close()).toMatchObject({ code: 1, stderr: expect.stringContaining('HOME_UNUSABLE') });
});

// These wait much longer than they work.
test.concurrent('a hub that does not answer is reported with its pid, and stops only with --force', async () => {
  await using squad = new TestSquad();
  const pid = await squad.hubPid();
  expect(mode(join(squad.home, 'hub.json'))).toBe('600');
  expect(JSON.parse(readFileSync(join(squad.home, 'hub.json'), 'utf8'))).toMatchObject({ pid });
  process.kill(pid, 'SIGSTOP');
  const [status, doctor, stop] = await Promise.all([
    squad.run(['hub', 'status']),
    squad.run(['doctor']),
    squad.run(['hub', 'stop']),
  ]);
  expect(status).toMatchObject({ code: 1, stdout: '' });
  expect(status.stderr).toMatch(
    new RegExp(
      `^squad: The hub \\(pid ${pid}\\) does not answer \\(HUB_UNREACHABLE\\)\\n.*squad hub stop --force`,
    ),
  );
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(new RegExp(`failed +hub +HUB_UNREACHABLE: The hub \\(pid ${pid}\\)`));
  expect(stop.code).toBe(1);
  expect(stop.stdout).toContain(`The hub (pid ${pid}) is still running`);
  expect(stop.stdout).toContain('squad hub stop --force');
  expect(isAlive(pid)).toBe(true);

  const forced = await squad.run(['hub', 'stop', '--force']);
  expect(forced).toMatchObject({ code: 0, stdout: expect.stringContaining(`Killed the hub (pid ${pid})`) });
  expect(isAlive(pid)).toBe(false);
}, 60_000);

test.concurrent('a hub whose socket, lock and record are removed restores them and stays the only hub', async () => {
  await using squad = new TestSquad();
  const client = await squad.client();
  const pid = await squad.hubPid();
  const files = ['hub.sock', 'hub.lock', 'hub.json'].map(name => join(squad.home, name));
  for (const gone of [...files.map(file => [file]), files]) {
    for (const file of gone) rmSync(file);
    expect(await squad.hubPid()).toBe(pid);
    await until('all files are there', () => files.every(file => existsSync(file)));
  }
  expect(await callTool(client, 'list_running')).toMatchObject({ count: 0 });
  expect(readFileSync(join(squad.home, 'hub.log'), 'utf8')).toContain(
    'hub.sock was removed; the hub restored it',
  );
  expect(await squad.json(['hub', 'stop'])).toMatchObject({ stopped: true, pid });
  expect(isAlive(pid)).toBe(false);
}, 60_000);

test.concurrent('hub stop finds a living hub by its lock', async () => {
  await using squad = new TestSquad();
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGSTOP');
  for (const name of ['hub.sock', 'hub.json']) rmSync(join(squad.home, name));
  const { code, stdout } = await squad.run(['hub', 'stop', '--force']);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`Killed the hub (pid ${pid})`)]);
  expect(isAlive(pid)).toBe(false);
}, 60_000);

test.concurrent('a pid that is not the hub of this home is never signalled', async () => {
  await using squad = new TestSquad();
  const bystander = spawn('sleep', ['60']);
  mkdirSync(squad.home, { mode: 0o700 });
  writeFileSync(join(squad.home, 'hub.json'), JSON.stringify({ pid: bystander.pid }));
  const server = createServer(socket => void socket.on('error', () => {}).resume()).listen(
    join(squad.home, 'hub.sock'),
  );
  const { code, stderr } = await squad.run(['hub', 'stop', '--force']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('HUB_UNREACHABLE')]);
  expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
  bystander.kill();
  await new Promise(settle => server.close(settle));
}, 60_000);

test.concurrent('a hub that dies whenever it is asked is not started again without end', async () => {
  await using squad = new TestSquad();
  mkdirSync(squad.home, { mode: 0o700 });
  let connections = 0;
  const server = createServer(socket => {
    connections++;
    socket.on('error', () => {});
    createInterface({ input: socket }).on('line', line => {
      const { id, operation } = JSON.parse(line);
      const say = (words: object) => socket.write(`${JSON.stringify(words)}\n`);
      if (operation === undefined) say({ squad: 1, ok: true, version: '0.0.1', pid: 1 });
      else if (operation === 'start_squad')
        say({ id, result: { squadId: 'squad_0000000000', runIds: ['run_0000000000'], warnings: [] } });
      else socket.destroy();
    });
  }).listen(join(squad.home, 'hub.sock'));
  const { code, stderr } = await squad.run(['run', 'coder', 'x', '--engine', 'scripted']);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/HUB_UNREACHABLE[\s\S]*squad hub log/)]);
  expect(connections).toBeLessThanOrEqual(8);
  await new Promise(settle => server.close(settle));
}, 60_000);

test('doctor names the saved environment when it is broken', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  await squad.hubPid();
  writeFileSync(join(squad.home, 'env'), 'PATH=/bin\nnonsense\n');
  const { code, stdout } = await squad.run(['doctor']);
  expect(code).toBe(1);
  expect(stdout).toContain(`Line 2 of ${join(squad.home, 'env')} is not NAME="value"`);
});

test('a hub that dies before its first answer: its own error is shown, in the terminal and in a client', async () => {
  await using squad = new TestSquad();
  const build = join(squad.root, 'build');
  for (const folder of ['bin', 'dist'])
    cpSync(join(BIN, '..', '..', folder), join(build, folder), { recursive: true });
  writeFileSync(
    join(build, 'dist', 'hub.cjs'),
    `const path = process.env.SQUAD_HOME + '/hub.sock';
    require('node:fs').rmSync(path, { force: true });
    require('node:net').createServer(socket => socket.once('data', () =>
      socket.write('{"squad":1,"ok":true,"version":"9.0.0","pid":1}\\n', () => {
        process.stderr.write('{"code":"DATABASE_CORRUPT","message":"It is damaged","suggestions":["Move it."]}');
        process.exit(1);
      }))).listen(path);`,
  );
  const bin = join(build, 'bin', 'squad.cjs');
  const ran = await squad.run(['ls'], { bin });
  expect(ran).toEqual({
    code: 1,
    stdout: '',
    stderr: 'squad: It is damaged (DATABASE_CORRUPT)\n  Move it.\n',
  });
  const client = new RawMcp(squad, { bin });
  expect(await client.ask('initialize', HANDSHAKE)).toMatchObject({
    error: { data: { code: 'DATABASE_CORRUPT', suggestions: ['Move it.'] } },
  });
  expect((await client.close()).code).toBe(1);
});
