import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hubPid } from '../../../src/link/hub-record.ts';
import { TestBox } from '../../support/box.ts';
import { TestSquad, until } from '../../support/squad.ts';

let squad: TestSquad;
let box: TestBox;

beforeEach(async () => {
  squad = new TestSquad();
  box = new TestBox(squad);
  await box.start();
});

afterEach(async () => {
  await box.stop();
  await box.restart();
  await box.remove(squad);
});

const add = (name = 'box', ...more: string[]) =>
  squad.run(['machines', 'add', name, 'box', '--ssh-config', box.sshConfig, ...more]);
const here = () => ['--no-worktree', '--cwd', box.home];
const template = (script: string) => ({ env: { RUN_TEMPLATE: `sh -c '${script}' x <%= it.promptFile %>` } });

interface Shown {
  run: {
    id: string;
    status: string;
    error: { code: string; message: string } | null;
    options: { machine: string };
  };
}
const shown = (id: string) => squad.shown<Shown>(id);

async function detached(script: string, ...more: string[]): Promise<string> {
  const args = ['run', '--on', 'box', ...here(), '-d', ...more, 'coder', 'Count'];
  const { runIds } = await squad.json<{ runIds: string[] }>(args, template(script));
  return runIds[0]!;
}

const output = (id: string): string => readFileSync(join(squad.home, 'runs', id, 'turn-1', 'stdout'), 'utf8');
const said = (id: string, text: string) =>
  until(
    `${id} says ${text}`,
    () => existsSync(join(squad.home, 'runs', id, 'turn-1', 'stdout')) && output(id).includes(text),
  );
const ended = (id: string) =>
  until(`${id} ends`, async () => !['queued', 'running'].includes(await squad.statusOf(id)));

test('a run on a box: output, exit and environment', { tags: ['H1', 'H2'] }, async () => {
  expect(await add()).toMatchObject({ code: 0, stdout: expect.stringContaining('box is ready') });
  const { stdout, code } = await squad.run(
    ['run', '--on', 'box', ...here(), 'coder', 'Say hello'],
    template('pwd; env; cat "$1" | head -c 3; exit 7'),
  );
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('exit code 7') });
  expect(stdout).toContain(`HOME=${box.home}`);
  // Of this machine's environment nothing is there, and no token.
  expect(stdout).not.toMatch(/RUN_TEMPLATE|SQUAD_HOME|SQUAD_MCP/);
  const listed = await squad.run(['ls']);
  expect(listed.stdout).toMatch(/engine +machine/);
  const [run] = (await squad.json<{ runs: { id: string }[] }>(['ls'])).runs;
  expect((await squad.run(['show', run!.id])).stdout).toMatch(/machine +box/);
  expect((await squad.json<{ machines: unknown[] }>(['machines', 'ls'])).machines).toMatchObject([
    { machine: { name: 'box', facts: { git: expect.any(String) } }, state: 'up', problem: null },
  ]);
  for (const words of [
    ['run', '--on', ''],
    ['machines', 'drain', 'b'],
  ])
    expect((await squad.run(['complete', '--', ...words])).stdout).toBe('box\tup, box\n');
});

test('work comes back as commits and files on the branch of the run', { tags: ['H3', 'F8'] }, async () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: squad.workspace, encoding: 'utf8' });
  squad.write('a.txt', 'one\n');
  squad.write('.gitignore', 'ignored\n');
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Me');
  git('config', 'user.email', 'me@example.com');
  git('add', '-A');
  git('commit', '-qm', 'first');
  await add();
  const script =
    'git status --short; echo two >>a.txt; git commit -qam second; echo new >new.txt; echo x >ignored';
  const ran = await squad.run(['run', '--on', 'box', 'coder', 'Change it'], template(script));
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('verified, 2 files') });
  const [id] = /run_\w+/.exec(ran.stdout)!;
  const branch = `squad/coder/${id}`;
  expect(git('log', '--format=%an %s', `main..${branch}`)).toBe('Me second\n');
  const diff = (await squad.run(['diff', id])).stdout;
  expect(diff).toContain('+new');
  expect(diff).toContain('+two');
  expect((await squad.run(['show', id])).stdout).not.toContain('on no branch');
  // No credentials and nothing of the repository's configuration went there.
  const repositories = join(box.home, '.squad-runner', 'hubs', hubFolder(), 'repositories');
  const [bare] = readdirSync(repositories);
  expect(readFileSync(join(repositories, bare!, 'config'), 'utf8')).not.toContain('remote');
  const merged = await squad.run(['integrate', id, '--yes']);
  expect(merged).toMatchObject({ code: 0 });
  expect(git('show', 'main:a.txt')).toBe('one\ntwo\n');
});

test('a reply continues the chat on the box', { tags: ['H1'] }, async () => {
  await add();
  const first = await squad.run([
    'run',
    '--on',
    'box',
    ...here(),
    '--engine',
    'scripted',
    'coder',
    'Say hello',
  ]);
  expect(first).toMatchObject({ code: 0 });
  const [id] = /run_\w+/.exec(first.stdout)!;
  const second = await squad.run(['reply', id, 'And again']);
  expect(second).toMatchObject({ code: 0 });
  const [next] = /run_\w+/.exec(second.stdout)!;
  expect((await shown(next)).run.options.machine).toBe('box');
  expect(await squad.run(['attach', '--take-over', '-y', id])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is on box'),
  });
});

const COUNT = 'for i in $(seq 1 60); do echo "line $i"; sleep 0.1; done; exit 3';
const COUNTED = Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`).join('');

test('at a usage limit the next engine of the role takes over on the same box', {
  tags: ['H1', 'G5'],
}, async () => {
  const line = (fields: object) => `echo '${JSON.stringify(fields)}'`;
  const refused = line({ type: 'result', is_error: true, result: 'Too much', api_error_status: 429 });
  writeFileSync(join(box.home, 'first.sh'), `cat > /dev/null; echo half > half; ${refused}; exit 1\n`);
  writeFileSync(join(box.home, 'second.sh'), 'cat half "$1"; env; pwd\n');
  const engines = {
    first: { runTemplate: `sh ${box.home}/first.sh`, parser: 'claude' },
    second: { runTemplate: `sh ${box.home}/second.sh <%= it.promptFile %>` },
  };
  squad.write('.squad/squad.json', JSON.stringify({ engines }));
  const roles = join(squad.root, 'roles');
  squad.env.SQUAD_AGENTS_DIR = roles;
  mkdirSync(roles);
  writeFileSync(join(roles, 'chain.md'), '---\nengine: [first, second]\n---\nYou count.');
  expect((await squad.run(['trust', '-y'])).code).toBe(0);
  await add();
  const { code, stdout, stderr } = await squad.run(['run', '--on', 'box', ...here(), 'chain', 'Count sheep']);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/half[\s\S]*Count sheep[\s\S]*Another agent \(first\) began this task/);
  expect(stdout).toContain(`HOME=${box.home}`);
  const [run] = (await squad.json<{ runs: { id: string }[] }>(['ls'])).runs;
  expect((await shown(run!.id)).run).toMatchObject({ status: 'completed', options: { machine: 'box' } });
});

describe('a cut', () => {
  test('of every connection loses nothing', { tags: ['H2'] }, async () => {
    await add();
    const id = await detached(COUNT);
    for (const line of ['line 3\n', 'line 12\n']) {
      await said(id, line);
      for (const pid of box.sessions()) kill(pid);
    }
    await ended(id);
    expect(output(id)).toBe(COUNTED);
    expect((await shown(id)).run.error).toMatchObject({ message: expect.stringContaining('exit code 3') });
  });

  test('and a killed hub: the next one serves at once, and finds the run', {
    tags: ['H2', 'H4'],
  }, async () => {
    await add();
    const id = await detached(COUNT);
    await said(id, 'line 3\n');
    kill(hubPid(squad.home)!);
    await box.stop();
    const list = await squad.json<{ runs: { status: string }[] }>(['ls']);
    expect(list.runs).toMatchObject([{ status: 'running' }]);
    // Runs of this machine are not held up.
    expect(await squad.run(['run', '--engine', 'scripted', 'coder', 'Say hello'])).toMatchObject({ code: 0 });
    await until('the run is shown as away', async () => (await squad.run(['ls'])).stdout.includes('away'));
    await box.restart();
    await ended(id);
    expect(output(id)).toBe(COUNTED);
    expect((await shown(id)).run.error).toMatchObject({ message: expect.stringContaining('exit code 3') });
  });

  test('a run for a box that is away waits in the queue, and a cancel ends it', {
    tags: ['H1', 'H4'],
  }, async () => {
    await add();
    await box.stop();
    await until('it is away', async () => (await machine()).state === 'away');
    const id = await detached('echo hello');
    expect(await squad.statusOf(id)).toBe('queued');
    const other = await detached('echo hello');
    await squad.run(['cancel', other]);
    expect(await squad.statusOf(other)).toBe('cancelled');
    await box.restart();
    await ended(id);
    expect(await squad.statusOf(id)).toBe('completed');
  });

  test('a box that never comes back: its runs end as lost', { tags: ['H4'] }, async () => {
    await add();
    const id = await detached('echo begun; sleep 60');
    await said(id, 'begun');
    expect(await squad.run(['machines', 'rm', 'box'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('MACHINE_IN_USE'),
    });
    await box.stop();
    expect(await squad.run(['machines', 'rm', 'box', '--lost'])).toMatchObject({ code: 0 });
    await ended(id);
    expect((await shown(id)).run).toMatchObject({
      status: 'lost',
      error: { code: 'LOST', message: 'The machine box was removed.' },
    });
  });
});

test('a cancel ends the whole tree on the box', { tags: ['H2'] }, async () => {
  await add();
  const id = await detached('echo begun; sleep 300 & sleep 301');
  await said(id, 'begun');
  await squad.run(['cancel', id]);
  await ended(id);
  expect(await squad.statusOf(id)).toBe('cancelled');
  const { stdout } = { stdout: execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }) };
  expect(stdout).not.toContain(`squad-turn-${id}`);
});

test('places, labels and draining', { tags: ['H1'] }, async () => {
  await add('box', '--slots', '1', '--label', 'gpu=yes');
  const on = (where: string) => ['run', '--on', where, ...here(), '-d', 'coder', 'Wait'];
  const first = (await squad.json<{ runIds: string[] }>(on('gpu=yes'), template('echo begun; sleep 60')))
    .runIds[0]!;
  await said(first, 'begun');
  const second = (await squad.json<{ runIds: string[] }>(on('box'), template('echo begun'))).runIds[0]!;
  expect(await squad.statusOf(second)).toBe('queued');
  expect(await squad.run(['machines', 'drain', 'box'])).toMatchObject({ code: 0 });
  expect(await squad.run(on('box'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('MACHINE_DRAINING'),
  });
  await squad.run(['cancel', first]);
  await ended(first);
  expect(await squad.statusOf(second)).toBe('queued');
  await squad.run(['machines', 'drain', 'box', '--off']);
  await ended(second);
  expect(await squad.statusOf(second)).toBe('completed');
});

test('refused with the reason', { tags: ['H1'] }, async () => {
  await add();
  const run = (...args: string[]) => squad.run(['run', ...args, 'coder', 'Say hello']);
  const scripted = ['--engine', 'scripted'];
  expect((await run('--on', 'other', ...scripted)).stderr).toContain('MACHINE_UNKNOWN');
  expect((await run('--on', 'a=b', ...scripted)).stderr).toContain('No machine has the label a=b');
  expect((await run('--on', 'box', '--no-worktree', ...scripted)).stderr).toContain(
    'needs a folder of that machine',
  );
  expect((await run('--on', 'box', ...here(), '--sandbox', 'workspace', ...scripted)).stderr).toContain(
    'SANDBOX_UNAVAILABLE',
  );
  expect((await run('--on', 'box', ...here(), '--engine', 'native')).stderr).toContain('beside the hub');
  expect((await run('--on', 'box', ...here(), '--engine', 'claude')).stderr).toContain(
    'not found on that machine',
  );
  expect((await run('--on', 'box', ...scripted)).stderr).toContain('NOT_A_REPOSITORY');
  expect((await add()).stderr).toContain('There is a machine box already');
  expect((await squad.run(['machines', 'add', 'x', '--', '-oProxyCommand=x'])).stderr).toContain(
    'INVALID_INPUT',
  );
});

test('machines that cannot be used', { tags: ['H2'] }, async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const config = (name: string, lines: string[]) => {
    const file = join(squad.root, name);
    writeFileSync(
      file,
      `${readFileSync(box.sshConfig, 'utf8')
        .split('\n')
        .filter(line => !lines.some(each => line.trim().startsWith(each.split(' ')[0]!)))
        .join('\n')}\n  ${lines.join('\n  ')}\n`,
    );
    return file;
  };
  const refusal = async (name: string, lines: string[]) =>
    (await squad.run(['machines', 'add', name, 'box', '--ssh-config', config(name, lines)])).stderr;
  const nobody = join(squad.root, 'nobody');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', nobody]);
  const [unknown, key, hostKey, mute] = await Promise.all([
    refusal('unknown', ['HostName nowhere.invalid']),
    refusal('key', [`IdentityFile ${nobody}`]),
    refusal('hostkey', ['UserKnownHostsFile /dev/null']),
    refusal('mute', [`Port ${port}`]),
  ]);
  silent.close();
  expect(unknown).toMatch(/Could not resolve hostname.*MACHINE_UNREACHABLE/s);
  expect(key).toMatch(/Permission denied.*MACHINE_UNREACHABLE.*public key/s);
  expect(hostKey).toMatch(/Host key verification failed.*MACHINE_UNREACHABLE/s);
  expect(mute).toMatch(/MACHINE_UNREACHABLE/);
  // A file where the folder should be: also root cannot write there.
  writeFileSync(join(box.home, '.squad-runner'), '');
  expect((await add()).stderr).toMatch(/home folder cannot be written.*MACHINE_UNSUITABLE/s);
});

test('machines that lack something', { tags: ['H2'] }, async () => {
  // A PATH of its own, as the profile of a login shell sets it.
  const bin = join(squad.root, 'bin');
  mkdirSync(bin);
  for (const name of ['sh', 'mkdir', 'head', 'wc', 'mv', 'sleep', 'ps', 'awk', 'kill', 'date', 'cat', 'env'])
    symlinkSync(
      execFileSync('sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' }).trim() || '/bin/true',
      join(bin, name),
    );
  const profile = (...lines: string[]) =>
    writeFileSync(join(box.home, '.profile'), `${[`PATH=${bin}`, ...lines].join('\n')}\n`);
  profile();
  expect((await add()).stderr).toMatch(/There is no `node`.*MACHINE_UNSUITABLE/s);
  writeFileSync(join(bin, 'node'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  expect((await add()).stderr).toMatch(/Node is too old.*MACHINE_UNSUITABLE/s);
  rmSync(join(bin, 'node'));
  symlinkSync(process.execPath, join(bin, 'node'));
  // No file may grow beyond 5 KiB, as on a full disk.
  profile('ulimit -f 10');
  expect((await add()).stderr).toMatch(/disk may be full.*MACHINE_UNSUITABLE/s);
  profile('echo "Welcome to this machine"', 'echo "{ not json"', 'yes | head -n 1000');
  expect(await add()).toMatchObject({ code: 0, stdout: expect.stringContaining('git      not found') });
  squad.write('a.txt', 'one\n');
  execFileSync('git', ['init', '-q'], { cwd: squad.workspace });
  const run = (...args: string[]) =>
    squad.run(['run', '--on', 'box', ...args, 'coder', 'Say hello'], template('echo hello'));
  expect((await run()).stderr).toMatch(/no git on box.*MACHINE_UNSUITABLE/s);
  expect(await run(...here())).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') });
});

test('a hub starts at once although one of its boxes says nothing, and its run is found later', {
  tags: ['H4'],
}, async () => {
  await add();
  const id = await detached(COUNT);
  await said(id, 'line 3\n');
  box.network.hold();
  kill(hubPid(squad.home)!);
  // Runs of this machine are not held up.
  expect(await squad.run(['run', '--engine', 'scripted', 'coder', 'Say hello'])).toMatchObject({ code: 0 });
  expect(await squad.statusOf(id)).toBe('running');
  box.network.release();
  await ended(id);
  expect(output(id)).toBe(COUNTED);
  expect((await shown(id)).run.error).toMatchObject({ message: expect.stringContaining('exit code 3') });
});

test('a run that was lost with its machine is ended there when the machine is added again', {
  tags: ['H4'],
}, async () => {
  await add();
  const id = await detached('echo begun; while :; do sleep 0.1; done');
  await said(id, 'begun');
  const pid = Number(
    readFileSync(join(box.home, '.squad-runner', 'hubs', hubFolder(), 'runs', id, 'turn-1', 'pid'), 'utf8'),
  );
  expect(await squad.run(['machines', 'rm', 'box', '--lost'])).toMatchObject({ code: 0 });
  await ended(id);
  expect(() => process.kill(pid, 0)).not.toThrow();
  await add();
  await until('its agent is gone', () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  });
});

test('a run in a work tree says that it has no sandbox there', { tags: ['H3'] }, async () => {
  execFileSync('git', ['init', '-q'], { cwd: squad.workspace });
  execFileSync(
    'git',
    ['-c', 'user.name=Me', '-c', 'user.email=me@example.com', 'commit', '-q', '--allow-empty', '-m', 'First'],
    { cwd: squad.workspace },
  );
  await add();
  const ran = await squad.run(['run', '--on', 'box', '--engine', 'scripted', 'coder', 'Say hello']);
  expect(ran).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Not sandboxed: runs on other machines (box)'),
  });
});

const machine = async () =>
  (await squad.json<{ machines: { state: string }[] }>(['machines', 'ls'])).machines[0]!;

const hubFolder = (): string => readdirSync(join(box.home, '.squad-runner', 'hubs'))[0]!;

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}
