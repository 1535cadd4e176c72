import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive, processesOf, type TurnFixture, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { createSupervisor } from '../turns/supervisor.ts';
import { findBubblewrap } from './bubblewrap.ts';
import type { Mount, TurnSandbox } from './sandbox-arguments.ts';
import { createSandboxes } from './sandboxes.ts';

const turns = new TurnsFixture();
const supervisor = createSupervisor({ runsDir: turns.runsDir });
const options = { keepLeftovers: false };
const home = turns.path('a home');
const tree = turns.path('a tree');
const secret = turns.path('secret');

beforeAll(() => {
  for (const folder of [home, tree, turns.path('chat home')]) mkdirSync(folder);
  writeFileSync(secret, 'secret');
  writeFileSync(join(home, 'key'), 'secret');
});
afterAll(() => turns.remove());

const MOUNTS: Mount[] = [
  { path: home, from: turns.path('chat home'), access: 'write' },
  { path: tree, from: tree, access: 'write' },
];

function confined(
  program: string | [string, ...string[]],
  {
    mounts = MOUNTS,
    env = {},
    stdin = null,
  }: { mounts?: Mount[]; env?: Record<string, string>; stdin?: string | null } = {},
): TurnFixture & { sandbox: TurnSandbox } {
  const turn = turns.turn(program, { env, stdin });
  const own: Mount = { path: turns.folder(turn), from: turns.folder(turn), access: 'read' };
  return { ...turn, cwd: tree, sandbox: { mounts: [...mounts, own], home, network: 'full', hosts: [] } };
}

async function run(turn: TurnFixture) {
  const end = await (await supervisor.start(turn, options)).ended;
  return { ...end, out: turns.read(turn, 'stdout'), err: turns.read(turn, 'stderr') };
}

/** Starts a script that says `ready` when it is set up. */
async function started(script: string, more = options) {
  const turn = confined(script);
  const live = await supervisor.start(turn, more);
  await turns.said(turn, 'ready');
  return { turn, live };
}

describe('inside', () => {
  test('the folder and the home can be written to, and paths are the same as outside', async () => {
    const { exitCode, out } = await run(
      confined('pwd; echo "$HOME"; echo work >file; echo own >"$HOME/own"'),
    );
    expect(exitCode).toBe(0);
    expect(out).toBe(`${tree}\n${home}\n`);
    expect(readFileSync(join(tree, 'file'), 'utf8')).toBe('work\n');
    expect(existsSync(join(home, 'own'))).toBe(false);
    expect(readFileSync(turns.path('chat home/own'), 'utf8')).toBe('own\n');
  });

  test('a fed turn reads what is added to its input, and cannot add to it', async () => {
    const turn = confined(
      'while read line; do echo "got $line"; (echo mine >>"$0"/input) 2>/dev/null; done; ls "$0" | grep pipe',
    );
    turn.command.argv.push(turns.folder(turn));
    turn.command.isFed = true;
    turns.write(turn, 'input', 'first\n');
    const live = await supervisor.start(turn, options);
    await turns.said(turn, 'got first');
    appendFileSync(join(turns.folder(turn), 'input'), 'second\n');
    await turns.said(turn, 'got second');
    await live.endInput();
    expect(await live.ended).toMatchObject({ exitCode: 1, spawnError: null });
    expect(turns.read(turn, 'stdout')).toBe('got first\ngot second\n');
  });

  test('nothing else of the machine can be read or written', { tags: ['leaving-the-sandbox'] }, async () => {
    const hidden = [
      ...[secret, join(home, 'key'), '/etc/shadow', '/etc/ssl/private', '/root/.bashrc', '/var/lib', '/sys'],
      ...[join(homedir(), '.ssh'), '/home', '/mnt', '/srv', '/var/run/docker.sock', '/boot'],
    ];
    const readOnly = ['/usr', '/etc', '/', '/opt', '/var'];
    const script = [
      ...hidden.map(path => `ls -d '${path}' 2>/dev/null`),
      ...readOnly.map(path => `(echo >'${path}/squad-x') 2>/dev/null && echo 'wrote to ${path}'`),
      `echo >'${turns.root}/in-private-memory'; ls '${turns.root}'; ls /tmp`,
    ];
    const { out } = await run(confined(script.join('\n')));
    expect(out).toBe(`a home\na tree\nin-private-memory\nruns\n${basename(turns.root)}\n`);
    expect(existsSync(turns.path('in-private-memory'))).toBe(false);
  });

  test('its own turn folder is there, and the record cannot be forged', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const turn = confined('cat "$0"/pid >/dev/null && echo seen; echo 0 >"$0"/exit; rm -f "$0"/pid; exit 3');
    turn.command.argv.push(turns.folder(turn));
    expect(await run(turn)).toMatchObject({ exitCode: 3, out: 'seen\n' });
    expect(turns.read(turn, 'exit')).toBe('3\n');
  });

  test('its prompt cannot be changed through the descriptor of its input', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const turn = confined(
      'cat; for f in /proc/[0-9]*/fd/0; do chmod 666 "$f"; echo forged >"$f"; done 2>/dev/null; exit 0',
    );
    const prompt = turns.path('prompt.md');
    writeFileSync(prompt, 'the prompt');
    turn.command.stdin = prompt;
    expect(await run(turn)).toMatchObject({ exitCode: 0, out: 'the prompt' });
    expect(readFileSync(prompt, 'utf8')).toBe('the prompt');
    expect(existsSync(join(turns.folder(turn), 'stdin'))).toBe(false);
  });

  test('no process of this machine is visible, and none can be signalled', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const turn = confined(
      `ls -d /proc/[0-9]* | wc -l; kill -0 ${process.pid} 2>/dev/null && echo found; kill -TERM 0; sleep 60`,
    );
    const { exitCode, out } = await run(turn);
    // Init, the shell, ls and wc.
    expect(Number(out)).toBeLessThanOrEqual(4);
    expect(exitCode).toBe(143);
  });

  test('the agent has no privileges and cannot get any', { tags: ['leaving-the-sandbox'] }, async () => {
    const script =
      'grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; unshare -U true 2>/dev/null && echo unshared; mount -t tmpfs none /tmp 2>/dev/null && echo mounted; true';
    expect((await run(confined(script))).out).toBe(
      'CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\n',
    );
  });

  test('settings and keyrings of the kernel, and sockets to the host of a virtual machine, are out of reach', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const [keyctl, socket] = process.arch === 'x64' ? [250, 41] : [219, 198];
    const script = [
      '(exec 3>>/proc/sys/vm/overcommit_memory) 2>/dev/null && echo "kernel settings"',
      `perl -e 'print "keyring\n" if syscall(${keyctl}, 0, -3, 1) > 0'`,
      `perl -e 'print "socket\n" if syscall(${socket}, 40, 1, 0) > 0'`,
      `perl -e 'print "plain socket\n" if syscall(${socket}, 1, 1, 0) > 0'`,
      'grep ^Seccomp: /proc/self/status',
    ];
    expect((await run(confined(script.join('\n')))).out).toBe('plain socket\nSeccomp:\t2\n');
  });

  test("bubblewrap's own process inside cannot be traced, read or seen, so that nothing can make it outlive the run", {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const [ptrace, open, seize] = process.arch === 'x64' ? [101, 434, 0x4206] : [117, 434, 0x4206];
    const script = [
      ...['ls -A /proc/1', 'cat /proc/1/environ 2>/dev/null'],
      `perl -e 'print "traced\n" if syscall(${ptrace}, ${seize}, 1, 0, 0) == 0'`,
      `perl -e 'print "descriptor\n" if syscall(${open}, 1, 0) > 0'`,
      // Another process can be, as debuggers do.
      `sleep 60 & perl -e 'print "child traced\n" if syscall(${ptrace}, ${seize}, '$!', 0, 0) == 0'; kill $!`,
    ];
    expect((await run(confined(script.join('\n')))).out).toBe('child traced\n');
  });

  test('a program that would run with the rights of the user for anybody else cannot be left behind', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const script = [
      ...['cp /bin/true plain', 'chmod u+s plain 2>/dev/null', 'chmod 6755 plain 2>/dev/null'],
      'perl -e \'use Fcntl; sysopen(my $f, "made", O_CREAT | O_WRONLY, 04755); chmod 04755, "plain"\'',
      ...['chmod 700 plain', 'stat -c "%a %n" *'],
    ];
    const turn = confined(script.join('\n'));
    const folder = turns.path('programs');
    mkdirSync(folder);
    turn.sandbox.mounts.push({ path: folder, from: folder, access: 'write' });
    turn.cwd = folder;
    expect((await run(turn)).out).toBe('700 plain\n');
  });

  test('neither the sources of its mounts nor files of its sandbox are open', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const turn = confined('readlink /proc/$$/fd/*; cat from/file');
    const from = turns.path('a source');
    mkdirSync(from, { recursive: true });
    writeFileSync(join(from, 'file'), 'its text\n');
    mkdirSync(join(tree, 'from'), { recursive: true });
    turn.sandbox.mounts.push({ path: join(tree, 'from'), from, access: 'read', isWithoutLinks: true });
    const { out } = await run(turn);
    expect(out).not.toContain(from);
    expect(out).not.toContain('sandbox.');
    expect(out).toContain('\nits text\n');
  });

  test('variables that lead outside are gone, the others stay', async () => {
    const turn = confined('env', {
      env: {
        SSH_AUTH_SOCK: '/x',
        DBUS_SESSION_BUS_ADDRESS: 'x',
        TMUX: 'x',
        DISPLAY: ':0',
        XDG_CACHE_HOME: '/x',
        KEPT: 'a b',
      },
    });
    const lines = (await run(turn)).out.split('\n');
    expect(lines).toEqual(
      expect.arrayContaining(['KEPT=a b', `HOME=${home}`, 'TMPDIR=/tmp', `SQUAD_RUN_ID=${turn.runId}`]),
    );
    expect(lines.filter(line => /^(SSH_|DBUS|TMUX|DISPLAY|XDG_CACHE)/.test(line))).toEqual([]);
  });

  test('the descriptors of its arguments and of its record are closed', async () => {
    const { out } = await run(confined('for fd in 3 4 5 6 7; do [ ! -e /proc/$$/fd/$fd ] || echo $fd; done'));
    expect(out).toBe('');
  });

  test('a mount can be read-only, empty, optional, and cover an earlier one', async () => {
    const inTree = (name: string) => join(tree, name);
    mkdirSync(inTree('hidden'), { recursive: true });
    writeFileSync(inTree('hidden/x'), '');
    writeFileSync(inTree('fixed'), 'fixed');
    const mounts: Mount[] = [
      ...MOUNTS,
      { path: inTree('hidden'), from: null, access: 'read' },
      { path: inTree('fixed'), from: inTree('fixed'), access: 'read' },
      { path: '/not/there', from: '/not/there', access: 'read', isOptional: true },
    ];
    const script =
      'ls hidden; (echo >hidden/y) 2>/dev/null || echo a; (echo >fixed) 2>/dev/null || echo b; ls -d /not/there 2>/dev/null || echo c';
    expect((await run(confined(script, { mounts }))).out).toBe('a\nb\nc\n');
  });

  test('a home and a tree behind links are found by either path', async () => {
    symlinkSync('a home', turns.path('home-link'));
    symlinkSync(turns.root, turns.path('root-link'));
    const linked = turns.path('home-link');
    const other = turns.path('root-link/a tree');
    const mounts: Mount[] = [
      { path: linked, from: turns.path('chat home'), access: 'write' },
      { path: other, from: other, access: 'write' },
    ];
    const turn = confined(
      `cd '${other}' && echo x >by-link; cd '${tree}' && cat by-link; cd '${linked}' && cd '${home}' && echo both`,
      { mounts },
    );
    turn.sandbox.home = linked;
    turn.cwd = tree;
    expect((await run(turn)).out).toBe('x\nboth\n');
  });

  test('the program gets every argument and its input', async () => {
    writeFileSync(turns.path('input'), 'from a file');
    const nasty = ['', ' ', "it's", '$(id)', '--', '--bind', 'a\nb', 'é😀'];
    const turn = confined(['/bin/sh', '-c', 'cat; printf "%s\\0" "$@"', 'sh', ...nasty], {
      stdin: turns.path('input'),
    });
    expect((await run(turn)).out).toBe(`from a file${nasty.map(arg => `${arg}\0`).join('')}`);
  });
});

describe('a turn that cannot start', () => {
  test('names the mount that does not exist, and nothing is started', async () => {
    const turn = confined('true', { mounts: [{ path: '/x', from: turns.path('missing'), access: 'read' }] });
    await expect(supervisor.start(turn, options)).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
      message: expect.stringContaining(`${turns.path('missing')} is to be mounted into its sandbox`),
    });
    expect(existsSync(join(turns.folder(turn), 'pid'))).toBe(false);
  });

  test('names the program that is not visible', async () => {
    const program = turns.path('program');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    expect(await run(confined([program]))).toMatchObject({
      exitCode: 1,
      spawnError: `${program} is not visible in its sandbox, or its interpreter is not`,
    });
  });

  test('says why bubblewrap failed', async () => {
    const turn = confined('true');
    turn.cwd = turns.root;
    turn.sandbox.mounts.push({ path: '/proc/x/y', from: tree, access: 'read' });
    expect((await run(turn)).spawnError).toMatch(/^its sandbox could not be made: .*\/proc\/x/);
  });

  test('is not confused with a program that writes the same and fails', async () => {
    expect(
      await run(confined('echo "bwrap: execvp x: No such file or directory" >&2; exit 1')),
    ).toMatchObject({
      exitCode: 1,
      spawnError: null,
    });
  });
});

describe('the end', () => {
  test('has the exit code of the program, or that of its signal', async () => {
    expect(await run(confined('exit 7'))).toMatchObject({ exitCode: 7, spawnError: null, leftovers: [] });
    expect(await run(confined('kill -SEGV $$'))).toMatchObject({ exitCode: 139 });
  });

  test('by stop leaves the agent time for its last words', { tags: ['S12'] }, async () => {
    const { turn, live } = await started(
      'trap "echo bye; exit 9" TERM; echo ready; while :; do sleep 0.05; done',
    );
    live.stop(30_000);
    expect(await live.ended).toMatchObject({ exitCode: 9 });
    expect(turns.read(turn, 'stdout')).toBe('ready\nbye\n');
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('by stop of an agent that ignores TERM, with a child in a session of its own', {
    tags: ['S12'],
  }, async () => {
    const { turn, live } = await started(
      `trap '' TERM; setsid sh -c 'while :; do sleep 0.05; done' & echo ready; while :; do sleep 0.05; done`,
    );
    live.stop(100);
    expect(await live.ended).toMatchObject({ exitCode: 137 });
    expect(turns.read(turn, 'exit')).toBe('137\n');
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('right after the start leaves nothing running', async () => {
    const all = Array.from({ length: 10 }, () => confined('exec sleep 60'));
    await Promise.all(
      all.map(async turn => {
        const live = await supervisor.start(turn, options);
        live.stop(200);
        return live.ended;
      }),
    );
    for (const turn of all) expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('by stop while the sandbox is set up is that of the agent, which does not run after it', {
    tags: ['S12'],
  }, async () => {
    const all = Array.from({ length: 12 }, () =>
      confined('trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'),
    );
    await Promise.all(
      all.map(async turn => {
        const live = await supervisor.start(turn, options);
        const status = join(turns.folder(turn), 'sandbox.status');
        await until(() => readFileSync(status, 'utf8').includes('child-pid'), 'the sandbox');
        live.stop(30_000);
        const { exitCode } = await live.ended;
        // Without the agent's own exit code it was ended before it could do anything.
        if (exitCode !== 9)
          expect({ exitCode, out: turns.read(turn, 'stdout') }).toEqual({ exitCode: 143, out: '' });
      }),
    );
  });

  test('at the hard limit needs no hub, and lets the agent finish', async () => {
    const turn = {
      ...confined("trap 'echo bye; exit 9' TERM; setsid sleep 61 & while :; do sleep 0.05; done"),
      hardLimitMs: 1_000,
    };
    expect(await run(turn)).toMatchObject({ exitCode: 9, out: 'bye\n' });
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('at the hard limit of an agent that ignores TERM needs no hub', async () => {
    const turn = { ...confined("trap '' TERM; while :; do sleep 0.05; done"), hardLimitMs: 1_000 };
    expect(await run(turn)).toMatchObject({ exitCode: 137 });
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test.each([false, true])(
    'takes what the agent left with it, with keepLeftovers %s',
    async keepLeftovers => {
      const turn = confined(
        'setsid sleep 61 </dev/null >/dev/null 2>&1 & (setsid env -i /bin/sleep 62 &) ; exit 0',
      );
      const end = await (await supervisor.start(turn, { keepLeftovers })).ended;
      expect(end).toMatchObject({ exitCode: 0, leftovers: [] });
      // The kernel ends them when the first process of the sandbox has ended, which is after bubblewrap outside.
      await until(async () => (await processesOf(turn.runId)).length === 0, 'the end of all processes');
    },
  );

  test.each(['wrapper', 'outer', 'init', 'agent'] as const)(
    'after kill -9 of the %s nothing is left',
    async who => {
      const { turn, live } = await started('setsid sleep 61 & echo ready; sleep 62; :');
      const line = await lineOf(live.pid);
      process.kill(line[who], 'SIGKILL');
      const end = await live.ended;
      expect(end.exitCode).toBe(who === 'wrapper' ? null : 137);
      // Bubblewrap's outer process ends a moment before the kernel has taken down what is inside.
      await expect.poll(() => Object.values(line).filter(isAlive)).toEqual([]);
      await expect.poll(() => processesOf(turn.runId)).toEqual([]);
    },
  );
});

/** Processes from the wrapper down, each the first child of the one before. */
async function lineOf(wrapper: number) {
  const childrenOf = (pid: number) =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  const nameOf = (pid: number) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  const outer = childrenOf(wrapper).find(pid => nameOf(pid) === 'bwrap')!;
  const [init] = childrenOf(outer) as [number];
  const [agent] = childrenOf(init) as [number];
  return { wrapper, outer, init, agent };
}

describe('seen from outside', () => {
  test('a stopped agent is stopped, and one that waits is alive', async () => {
    const { live } = await started('echo ready; sleep 60; :');
    const { agent } = await lineOf(live.pid);
    expect(await live.processStats()).toMatchObject({ alive: true, stopped: false });
    process.kill(agent, 'SIGSTOP');
    await until(async () => (await live.processStats()).stopped, 'a stopped agent');
    live.stop(0);
    await live.ended;
  });

  test('another supervisor finds the turn and its end, as after kill -9 of the hub', async () => {
    const { turn } = await started('echo ready; while [ ! -e go ]; do sleep 0.02; done; rm go; exit 5');
    const found = await createSupervisor({ runsDir: turns.runsDir }).find(turn, options);
    if (found.state !== 'live') throw new Error(found.state);
    writeFileSync(join(tree, 'go'), '');
    expect(await found.turn.ended).toMatchObject({ exitCode: 5 });
    expect(await createSupervisor({ runsDir: turns.runsDir }).find(turn, options)).toMatchObject({
      state: 'ended',
    });
  });

  test('the line of the wrapper in ps is short', async () => {
    const { live } = await started('echo ready; sleep 60');
    const { outer } = await lineOf(live.pid);
    expect(readFileSync(`/proc/${outer}/cmdline`, 'utf8').split('\0').slice(1, 4)).toEqual([
      '--args',
      '4',
      '--',
    ]);
    live.stop(0);
    await live.ended;
  });
});

describe('a folder that an agent has replaced by a link', { tags: ['leaving-the-sandbox'] }, () => {
  const folder = turns.path('a folder');
  const mount: Mount = { path: folder, from: folder, access: 'write', isWithoutLinks: true };
  const startAgain = () => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder} of before`, { recursive: true, force: true });
  };

  test('is not mounted', async () => {
    startAgain();
    symlinkSync(home, folder);
    const turn = { ...confined('true', { mounts: [...MOUNTS, mount] }), cwd: folder };
    await expect(supervisor.start(turn, options)).rejects.toThrow(/a link in .*a folder leads elsewhere/);
    const optional = confined('ls', { mounts: [...MOUNTS, { ...mount, isOptional: true }] });
    expect((await run(optional)).out).not.toContain('key');
    rmSync(folder);
    const missing = confined('echo ran', { mounts: [...MOUNTS, { ...mount, isOptional: true }] });
    expect((await run(missing)).out).toBe('ran\n');
  });

  test('at the last moment is mounted as it was', async () => {
    startAgain();
    mkdirSync(folder);
    writeFileSync(join(folder, 'own'), '');
    const programs = turns.path('programs that swap');
    mkdirSync(programs);
    const real = findBubblewrap(process.env.PATH ?? '')!;
    const swap = `case "$*" in *--args*) mv '${folder}' '${folder} of before'; ln -s '${home}' '${folder}';; esac`;
    writeFileSync(join(programs, 'bwrap'), `#!/bin/sh\n${swap}\nexec ${real} "$@"\n`, { mode: 0o755 });
    const swapping = createSupervisor({
      runsDir: turns.runsDir,
      sandboxes: createSandboxes({ path: programs, rooms: null }),
    });
    const turn = { ...confined('ls; touch made', { mounts: [...MOUNTS, mount] }), cwd: folder };
    await (await swapping.start(turn, options)).ended;
    expect(lstatSync(folder).isSymbolicLink()).toBe(true);
    expect(turns.read(turn, 'stdout')).toBe('own\n');
    expect(existsSync(join(`${folder} of before`, 'made'))).toBe(true);
    expect(existsSync(join(home, 'made'))).toBe(false);
  });
});
