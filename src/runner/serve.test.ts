import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, test } from 'vitest';
import { type FrameHead, FrameReader, frame } from '../base/frames.ts';
import { until } from '../process/testing/turn-fixture.ts';
import { bootSeconds } from '../process/turns/turn-record.ts';
import type { OpName, Ops, RemoteStart } from './protocol.ts';
import { serveRunner } from './serve.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-runner-'));
const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
const ends: (() => void)[] = [];
afterAll(() => {
  for (const end of ends) end();
  rmSync(root, { recursive: true, force: true });
});

/** A runner as the hub sees it. */
function runner(home = mkdtempSync(join(root, 'home-'))) {
  const input = new PassThrough();
  const output = new PassThrough();
  const waiting = new Map<number, (answer: FrameHead) => void>();
  let last = 0;
  const ended = Promise.withResolvers<void>();
  const reader = new FrameReader(head => waiting.get(head.id as number)?.(head));
  output.on('data', (chunk: Buffer) => reader.push(chunk));
  serveRunner({ home, hub: 'h_1', input, output, env, exit: () => ended.resolve() });
  ends.push(() => input.end());
  const base = join(home, 'hubs', 'h_1');
  async function ask<N extends OpName>(op: N, ask: Ops[N]['ask'], body?: Buffer): Promise<Ops[N]['answer']> {
    const id = ++last;
    const { promise, resolve } = Promise.withResolvers<FrameHead>();
    waiting.set(id, resolve);
    input.write(frame({ ...ask, id, op }, body));
    const { ok, error } = await promise;
    if (error) throw Object.assign(new Error((error as Error).message), error);
    return ok as Ops[N]['answer'];
  }
  const file = (runId: string, name: string) => join(base, 'runs', runId, 'turn-1', name);
  return { home, base, ask, ended: ended.promise, file };
}

const turn = (runId: string, script: string, more: Partial<RemoteStart> = {}): RemoteStart => ({
  ...{ runId, number: 1, argv: ['/bin/sh', '-c', script], stdin: null, env: {}, cwd: root },
  ...{ hardLimitMs: 60_000, keepLeftovers: false, files: [], lease: null },
  ...more,
});
const idOf = ({ runId, number }: RemoteStart) => ({ runId, number });
const LOOP = 'echo ready; while :; do sleep 0.05; done';

describe('leases', { tags: ['H4'] }, () => {
  test('grants that come late, twice or in another order change nothing that newer ones said', async () => {
    const { ask, file } = runner();
    const now = Math.floor(bootSeconds());
    const own = turn('run_grants', LOOP, { lease: { until: now + 60, ms: 60_000 } });
    await ask('start', { turn: own });
    const lease = () => Number(readFileSync(file('run_grants', 'lease'), 'utf8'));
    const grant = (until: number) => ask('ping', { leases: [{ ...idOf(own), until }] });
    for (const [until, then] of [
      [now + 90, now + 90],
      [now + 70, now + 90],
      [now + 90, now + 90],
      [now - 5, now + 90],
      [now + 95, now + 95],
    ] as const) {
      await grant(until);
      expect(lease()).toBe(then);
    }
    await ask('stop', { turn: idOf(own), graceMs: 0 });
  });

  test.each([
    ['came too late', (now: number) => ({ until: now - 1, ms: 60_000 })],
    ['is from before a restart of the machine', (now: number) => ({ until: now + 900_000, ms: 60_000 })],
  ])('a start that %s is refused, and starts nothing', async (_, lease) => {
    const { ask, file } = runner();
    const own = turn('run_late', 'echo ran', { lease: lease(bootSeconds()) });
    await expect(ask('start', { turn: own })).rejects.toMatchObject({ code: 'LEASE_OVER' });
    expect(existsSync(file('run_late', 'pid'))).toBe(false);
    // With a new lease the same turn starts, once.
    const again = { turn: { ...own, lease: { until: bootSeconds() + 60, ms: 60_000 } } };
    await Promise.all([ask('start', again), ask('start', again)]);
    await until(
      async () => (await ask('find', { turn: idOf(own), keepLeftovers: false })).state === 'ended',
      'it ends',
    );
    expect(readFileSync(file('run_late', 'stdout'), 'utf8')).toBe('ran\n');
  });

  test('a turn without a lease gets none', async () => {
    const { ask, file } = runner();
    const own = turn('run_free', LOOP);
    await ask('start', { turn: own });
    await ask('ping', { leases: [{ ...idOf(own), until: bootSeconds() + 10 }] });
    expect(existsSync(file('run_free', 'lease'))).toBe(false);
    await ask('stop', { turn: idOf(own), graceMs: 0 });
  });

  test('the next turn of a run starts when the one before is gone', async () => {
    const { ask, file } = runner();
    const own = turn('run_twice', `trap "" TERM; ${LOOP}`);
    await ask('start', { turn: own });
    await until(() => readFileSync(file('run_twice', 'stdout'), 'utf8') === 'ready\n', 'it runs');
    await ask('start', { turn: { ...own, number: 2, argv: ['/bin/sh', '-c', 'echo second'] } });
    expect(await ask('find', { turn: idOf(own), keepLeftovers: false })).toMatchObject({ state: 'ended' });
  });
});

test('agents of runs that the hub does not know are ended before their files go; others stay', {
  tags: ['H4'],
}, async () => {
  const { ask, base, file } = runner();
  for (const id of ['run_known', 'run_orphan']) {
    await ask('start', { turn: turn(id, LOOP) });
    await until(() => readFileSync(file(id, 'stdout'), 'utf8') === 'ready\n', 'it runs');
    mkdirSync(join(base, 'worktrees', id), { recursive: true });
  }
  const pid = Number(readFileSync(file('run_orphan', 'pid'), 'utf8'));
  await ask('keep', { runs: ['run_known'], worktrees: ['run_known'] });
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  expect(existsSync(join(base, 'runs', 'run_orphan'))).toBe(false);
  expect(existsSync(join(base, 'worktrees', 'run_orphan'))).toBe(false);
  expect(existsSync(join(base, 'worktrees', 'run_known'))).toBe(true);
  const known = { turn: { runId: 'run_known', number: 1 } };
  expect(await ask('find', { ...known, keepLeftovers: false })).toMatchObject({ state: 'live' });
  await ask('stop', { ...known, graceMs: 0 });
});

test('a runner whose hub has a newer connection does nothing more', { tags: ['H2'] }, async () => {
  const old = runner();
  const next = runner(old.home);
  void old.ask('start', { turn: turn('run_old', 'echo ran') });
  await old.ended;
  expect(
    await next.ask('find', { turn: { runId: 'run_old', number: 1 }, keepLeftovers: false }),
  ).toMatchObject({
    state: 'never_started',
  });
});

test('a turn starts although it is being looked for', { tags: ['H2'] }, async () => {
  const { ask } = runner();
  const own = turn('run_sought', 'echo ran');
  const about = { turn: idOf(own) };
  const [found, , started] = await Promise.all([
    ask('find', { ...about, keepLeftovers: false }),
    ask('stats', about),
    ask('start', { turn: own }),
  ]);
  expect([found.state, started.state]).toEqual(['never_started', 'live']);
});

test('a turn that never started has written no files', { tags: ['H2'] }, async () => {
  expect(await runner().ask('wrote', { turn: { runId: 'run_never', number: 1 } })).toEqual({ names: [] });
});

test('files of an agent with names that the hub refuses are left out', { tags: ['H2'] }, async () => {
  const { ask, file } = runner();
  const own = turn(
    'run_names',
    'cd "$(dirname "$(readlink /proc/$$/fd/1)")"; echo a >last.txt; echo b >"a b"; echo c >-c; mkdir d',
  );
  await ask('start', { turn: own });
  await until(() => existsSync(file('run_names', 'exit')), 'it ends');
  expect(await ask('wrote', { turn: idOf(own) })).toEqual({ names: ['last.txt'] });
});

test.each(['../../machine', '/etc/passwd', 'runs/../../../machine'])('%s is not read', async path => {
  await expect(runner().ask('get', { path, from: 0, max: 10 })).rejects.toThrow(
    "is not below the hub's folder",
  );
});

/** A work tree of the hub that is on its way to a box. */
async function sent() {
  const { ask, base } = runner();
  const repository = mkdtempSync(join(root, 'repository-'));
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Me', '-c', 'user.email=me@example.com', ...args], {
      cwd,
      encoding: 'utf8',
      env,
    }).trim();
  git(repository, 'init', '-q', '-b', 'main');
  writeFileSync(join(repository, 'a.txt'), 'one\n');
  git(repository, 'add', '-A');
  git(repository, 'commit', '-qm', 'first');
  const tip = git(repository, 'rev-parse', 'HEAD');
  const ref = 'refs/squad/boxes/run_1/work';
  git(repository, 'update-ref', ref, tip);
  git(repository, 'bundle', 'create', '-q', join(repository, 'bundle'), ref);
  await ask('put', { name: 'in', at: 0 }, readFileSync(join(repository, 'bundle')));
  const checkout = (bundle: string | null) =>
    ask('checkout', {
      ...{ repo: 'r', worktree: 'run_1', branch: 'b', ref, tip, work: tip, have: [tip], bundle },
      ...{ author: { name: 'Me', email: 'me@example.com' }, setup: null },
    });
  return { ask, base, git, tip, ref, checkout, there: join(base, 'worktrees', 'run_1') };
}

test('work that the hub never got is kept before its work tree is replaced', { tags: ['H3'] }, async () => {
  const { ask, git, tip, ref, checkout, there } = await sent();
  // Asked twice, and beside another run of the same repository.
  expect(await Promise.all([checkout('in'), checkout('in'), ask('haves', { repo: 'r' })])).toMatchObject([
    { kept: null },
    { kept: null },
    { commits: expect.any(Array) },
  ]);
  expect(await checkout(null)).toEqual({ kept: null });
  writeFileSync(join(there, 'a.txt'), 'two\n');
  writeFileSync(join(there, 'new.txt'), 'new\n');
  // Git compares times in seconds, so it sees an edit of the same size within the second only by the age of its index.
  const edited = Math.floor(Date.now() / 1000);
  await expect.poll(() => Math.floor(Date.now() / 1000)).toBeGreaterThan(edited);
  // Collected, but the hub never read the bundle.
  await ask('collect', { worktree: 'run_1', ref, have: [tip] });
  const { kept } = await checkout(null);
  expect(readFileSync(join(there, 'a.txt'), 'utf8')).toBe('one\n');
  expect(git(there, 'show', `${kept}:a.txt`)).toBe('two');
  expect(git(there, 'show', `${kept}:new.txt`)).toBe('new');
});

test('a check-out that was interrupted is completed, and is nobody’s work', { tags: ['H3'] }, async () => {
  const { base, git, checkout, there } = await sent();
  expect(await checkout('in')).toEqual({ kept: null });
  // As a runner leaves it that is killed in the middle, together with its git.
  rmSync(join(base, 'transfer', 'run_1.whole'));
  rmSync(join(there, 'a.txt'));
  writeFileSync(join(base, 'repositories', 'r.git', 'config.lock'), '');
  const gitFolder = git(there, 'rev-parse', '--absolute-git-dir');
  writeFileSync(join(gitFolder, 'locked'), 'initializing');
  expect(await checkout(null)).toEqual({ kept: null });
  expect(readFileSync(join(there, 'a.txt'), 'utf8')).toBe('one\n');
  expect(git(there, 'status', '--short')).toBe('');
  // Killed before git had written what makes it a work tree.
  rmSync(join(gitFolder, 'HEAD'));
  expect(await checkout(null)).toEqual({ kept: null });
  expect(git(there, 'status', '--short')).toBe('');
});
