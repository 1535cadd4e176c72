import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { HANDSHAKE, RawMcp } from '../../support/raw-mcp.ts';
import { BIN, callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

const log = (squad: TestSquad) => readFileSync(join(squad.home, 'hub.log'), 'utf8');
const starts = (squad: TestSquad) => log(squad).match(/started, pid/g)?.length ?? 0;
const status = (squad: TestSquad) =>
  squad.json<{ running: boolean; pid: number; startedAt: number }>(['hub', 'status']);

test('squad mcp starts the hub when there is none', async () => {
  await using squad = new TestSquad();
  const client = await squad.client();
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  expect((await status(squad)).running).toBe(true);
});

test('a command of the terminal starts the hub when there is none', async () => {
  await using squad = new TestSquad();
  expect((await squad.run(['ls'])).code).toBe(0);
  expect((await status(squad)).running).toBe(true);
});

test('the hub goes when no client and no run is there any more, and stays while a run lives', async () => {
  const env = { SQUAD_HUB_LINGER_MS: '150' };
  await using busy = new TestSquad(env);
  await using idle = new TestSquad(env);
  const go = join(busy.workspace, 'go');
  const client = await busy.client();
  const busyPid = await busy.hubPid();
  const task = `\`\`\`script\nawait ${go}\n\`\`\``;
  await busy.run(['run', 'coder', task, '--engine', 'scripted', '--detach']);
  await client.close();

  // As long again as it takes a hub with nothing to do to go.
  const idlePid = await idle.hubPid();
  await until('the idle hub is gone', () => !isAlive(idlePid));
  expect(log(idle)).toContain('stops: idle');
  expect(isAlive(busyPid)).toBe(true);

  writeFileSync(go, '');
  await until('the other hub is gone once its run has ended', () => !isAlive(busyPid));
  expect(log(busy)).toContain('stops: idle');
});

test('the hub stays while a client is there, however long that one is silent', async () => {
  // On a busy machine a client that started the hub may need most of a second to connect.
  const env = { SQUAD_HUB_LINGER_MS: '1000' };
  await using squad = new TestSquad(env);
  await using idle = new TestSquad(env);
  const client = await squad.client();
  const idlePid = await idle.hubPid();
  await until('a hub without clients is gone', () => !isAlive(idlePid));
  await client.listTools();
  expect(starts(squad)).toBe(1);
});

test('the hub survives the terminal that happened to start it, and a SIGHUP', { tags: ['F2'] }, async () => {
  await using squad = new TestSquad();
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', join(squad.root, 'tmux'), ...args], { env: squad.env, stdio: 'pipe' });
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-c',
    squad.workspace,
    `${process.execPath} ${BIN} hub start; cat`,
  );
  await until('the hub is there', async () => (await status(squad)).running);
  const { pid } = await status(squad);
  tmux('kill-server');
  process.kill(pid, 'SIGHUP');
  expect((await status(squad)).pid).toBe(pid);
});

test('the hub takes over no files, folder, umask, priority, terminal or variables from the process that started it', {
  tags: ['S4'],
}, async () => {
  await using squad = new TestSquad();
  const held = join(squad.root, 'held');
  // 200 is the descriptor that scripts around flock(1) usually hold.
  const script = `exec 3>"${held}" 9>"${held}" 20>"${held}" 200>"${held}"; umask 0; exec nice -n 5 "$@"`;
  execFileSync('bash', ['-c', script, 'bash', process.execPath, BIN, 'hub', 'start'], {
    cwd: squad.workspace,
    env: { ...squad.env, NODE_OPTIONS: '--no-deprecation', LD_BIND_NOW: '1' },
  });
  const { pid, warnings } = await squad.json<{ pid: number; warnings: string[] }>(['hub', 'status']);
  const proc = (file: string) => `/proc/${pid}/${file}`;
  const files = readdirSync(proc('fd')).map(fd => readlinkSync(proc(`fd/${fd}`)));
  expect(files.filter(file => file === held)).toEqual([]);
  expect(readlinkSync(proc('cwd'))).toBe('/');
  expect(readFileSync(proc('status'), 'utf8')).toMatch(/^Umask:\t0022$/m);
  // The system lets only root raise a priority.
  if (getPriority(pid) === 5) expect(warnings).toEqual([expect.stringContaining('nice 5')]);
  else expect(getPriority(pid)).toBe(0);
  const [, , session, terminal] = readFileSync(proc('stat'), 'utf8').split(') ')[1]!.split(' ').slice(1);
  expect([session, terminal]).toEqual([String(pid), '0']);
  expect(readFileSync(proc('environ'), 'utf8')).not.toMatch(/NODE_OPTIONS|LD_BIND_NOW/);
});

test('the hub is not killed first because of the process that started it, and warns of limits that it cannot shed', async () => {
  await using squad = new TestSquad();
  const limits = 'ulimit -f 2000000; ulimit -t 600; ulimit -d 32000000; ulimit -v 64000000; ulimit -n 500';
  const script = `echo 900 >/proc/self/oom_score_adj; ${limits}; exec "$@"`;
  execFileSync('bash', ['-c', script, 'bash', process.execPath, BIN, 'hub', 'start'], { env: squad.env });
  const { pid, warnings } = await squad.json<{ pid: number; warnings: string[] }>(['hub', 'status']);
  expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim()).toBe('0');
  const named = [
    'max cpu time 600 seconds',
    'max file size \\d+ bytes',
    'max data size 32768000000 bytes',
    'max open files 500 files',
    'max address space 65536000000 bytes',
  ];
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`: ${named.join(', ')}\\..*squad hub start`))]);
});

test.each([2, 10])(
  'of %i starters at the same moment one starts the hub, and all are served',
  async count => {
    await using squad = new TestSquad();
    const clients = Array.from({ length: count / 2 }, () => new RawMcp(squad));
    const replies = clients.map(client => client.ask('initialize', HANDSHAKE));
    const terminals = Array.from({ length: count / 2 }, () => squad.hubPid());
    for (const { result } of await Promise.all(replies))
      expect(result).toMatchObject({ serverInfo: { name: 'squad' } });
    expect(new Set(await Promise.all(terminals)).size).toBe(1);
    expect(starts(squad)).toBe(1);
    for (const { code } of await Promise.all(clients.map(client => client.close()))) expect(code).toBe(0);
  },
);

test('a hub that was killed leaves its socket behind, and the next one takes its place', async () => {
  await using squad = new TestSquad();
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('it is dead', () => !isAlive(pid));
  expect(await squad.hubPid()).not.toBe(pid);
});

test('a hub that was stopped stays stopped until its clients have something to ask, and they do not notice', async () => {
  await using squad = new TestSquad();
  const legacy = await squad.client();
  const modern = await squad.client({ modern: true });
  // The SDK starts such a server twice and waits only for the first: the second may still be on its way to the hub, and would start one.
  await modern.listTools();
  await squad.run(['hub', 'stop']);
  expect(await status(squad)).toMatchObject({ running: false });
  const asked = Date.now();
  expect(await callTool(legacy, 'list_running')).toEqual({ agents: [], count: 0 });
  expect(await callTool(modern, 'list_running')).toEqual({ agents: [], count: 0 });
  expect((await status(squad)).startedAt).toBeGreaterThanOrEqual(asked);
  expect(starts(squad)).toBe(2);
});

test('a hub stops in time although a client does not read its answers', async () => {
  await using squad = new TestSquad();
  const client = await RawMcp.legacy(squad);
  client.child.kill('SIGSTOP');
  client.send(
    ...Array.from({ length: 400 }, (_, id) => ({ jsonrpc: '2.0', id: id + 10, method: 'tools/list' })),
  );
  const pid = await squad.hubPid();
  await squad.run(['hub', 'stop']);
  expect(isAlive(pid)).toBe(false);
  client.child.kill('SIGKILL');
});

test('the hub keeps its compiled code in a form that the next one takes', async () => {
  await using squad = new TestSquad();
  squad.sharesCompiled = false;
  await squad.hubPid();
  const file = join(squad.home, 'cache', 'hub.code');
  await until('the code is kept', () => existsSync(file));
  const loader = join(import.meta.dirname, '..', '..', '..', 'src', 'hub', 'kept-code.ts');
  const program = join(dirname(BIN), '..', 'dist', 'hub-main.cjs');
  // In a process of its own: V8 takes code only with the flags it was compiled with, and those of a test runner are others.
  const script = `const { KeptCode } = await import(${JSON.stringify(loader)});
    console.log(new KeptCode(...${JSON.stringify([program, file])}).isKept);`;
  const args = ['--input-type=module', '--eval', script];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('true\n');
});
