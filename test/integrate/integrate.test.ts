import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Integrator } from '../../src/core/integration/integrator.ts';
import { isAlive } from '../../src/process/testing/turn-fixture.ts';
import type { Run } from '../../src/schema/run.ts';
import { IntegrateFixture } from './integrate-fixture.ts';

let fixture: IntegrateFixture;
let integrator: Integrator;
beforeEach(async () => {
  fixture = await IntegrateFixture.open();
  integrator = fixture.integrator();
});
afterEach(() => fixture.close());

const named = (...runs: Run[]) => new Set(runs.map(({ id }) => id));
const merged = async () =>
  (await fixture.store.events({ types: ['branch.integrated'], limit: 100 })).map(({ runId, body }) => ({
    runId,
    ...body,
  }));

test('the shown branches are merged, one commit for each run, and reported as events', {
  tags: ['F6'],
}, async () => {
  const [x, y] = [await fixture.run({ 'x file.txt': 'x\n' }), await fixture.run({ 'y.txt': 'y\n' })];
  const before = fixture.tip();
  const plan = await fixture.plan(integrator);
  expect(plan).toMatchObject({
    target: 'main',
    from: before,
    folder: fixture.repo.root,
    blocked: null,
    leftOut: [],
  });
  expect(plan.branches.map(({ runId, outcome, files }) => [runId, outcome, files])).toEqual([
    [x.id, 'merges', 1],
    [y.id, 'merges', 1],
  ]);
  expect(fixture.tip()).toBe(before);
  const done = await integrator.carryOut(plan.planId!, { remove: false });
  expect(done).toMatchObject({ target: 'main', from: before, to: plan.to, removed: [], notes: [] });
  expect(fixture.tip()).toBe(plan.to);
  expect(fixture.repo.read('x file.txt')).toBe('x\n');
  expect(fixture.repo.git('status', '--porcelain')).toBe('');
  const log = fixture.repo.git('log', '--first-parent', '--format=%B', 'main');
  for (const words of [`Run: ${x.id}`, 'Role: coder', 'coder: Write x file.txt'])
    expect(log).toContain(words);
  expect(await merged()).toEqual([
    {
      runId: x.id,
      type: 'branch.integrated',
      branch: x.worktree!.branch,
      into: 'main',
      commit: plan.branches[0]!.commit,
    },
    { runId: y.id, type: 'branch.integrated', branch: y.worktree!.branch, into: 'main', commit: plan.to },
  ]);
  expect(await fixture.store.intents()).toEqual([]);
  expect((await fixture.plan(integrator)).branches).toEqual([]);
  expect((await fixture.plan(integrator, { named: named(x) })).branches).toMatchObject([
    { outcome: 'nothing' },
  ]);
});

test('work that a run left uncommitted is committed to its branch when that is approved, not before', async () => {
  const run = await fixture.run({}, { uncommitted: { 'left.txt': 'left\n' } });
  const plan = await fixture.plan(integrator);
  expect(plan.branches).toMatchObject([{ outcome: 'merges', commitsWork: true }]);
  expect(fixture.tip(run.worktree!.branch)).toBe(plan.from);
  await integrator.carryOut(plan.planId!, { remove: false });
  expect(fixture.repo.read('left.txt')).toBe('left\n');
  expect(fixture.repo.git('log', '-1', '--format=%s', run.worktree!.branch)).toContain(`Work of ${run.id}`);
  expect(fixture.repo.git('-C', run.worktree!.path, 'status', '--porcelain')).toBe('');
});

test('work that cannot be committed is refused, and the others go on', async () => {
  const stuck = await fixture.run({ 'a.txt': 'mine\n' });
  const fine = await fixture.run({ 'b.txt': 'b\n' });
  fixture.repo.write('a.txt', 'theirs\n');
  fixture.repo.commit('Theirs');
  // A merge that the agent began and never finished.
  try {
    fixture.repo.git('-C', stuck.worktree!.path, 'merge', 'main');
  } catch {} // it conflicts, as it is meant to
  const plan = await fixture.plan(integrator);
  const outcome = Object.fromEntries(plan.branches.map(each => [each.runId, each]));
  expect(outcome[fine.id]).toMatchObject({ outcome: 'merges' });
  expect(outcome[stuck.id]).toMatchObject({ outcome: 'refused', messages: [expect.any(String)] });
  expect(plan.checklist[0]).toMatchObject({ state: 'bad' });
});

test('the only one whose work cannot be committed leaves nothing to merge, and says so', async () => {
  const stuck = await fixture.run({ 'a.txt': 'mine\n' });
  fixture.repo.write('a.txt', 'theirs\n');
  fixture.repo.commit('Theirs');
  try {
    fixture.repo.git('-C', stuck.worktree!.path, 'merge', 'main');
  } catch {} // it conflicts, as it is meant to
  expect(await fixture.plan(integrator)).toMatchObject({
    planId: null,
    branches: [{ outcome: 'refused' }],
    blocked: { code: 'UNCOMMITTABLE', message: expect.stringContaining(stuck.id) },
  });
});

test('runs of two checkouts of one repository are merged together, and the one with the target follows', async () => {
  const linked = join(fixture.repo.folder, 'linked');
  fixture.repo.git('worktree', 'add', '-q', '-b', 'side', linked);
  const [x, y] = [await fixture.run({ 'x.txt': 'x\n' }), await fixture.run({ 'y.txt': 'y\n' })];
  const there = { ...y, worktree: { ...y.worktree!, repository: linked } };
  for (const runs of [
    [x, there],
    [there, x],
  ]) {
    const plan = await fixture.plan(integrator, { runs });
    expect(plan).toMatchObject({ folder: fixture.repo.root, repository: fixture.repo.root, blocked: null });
    expect(plan.branches.map(({ outcome }) => outcome)).toEqual(['merges', 'merges']);
  }
  const checkout = await fixture.worktrees.checkout(linked);
  expect(checkout).toEqual({ root: linked, repository: join(fixture.repo.root, '.git') });
  expect(await fixture.plan(integrator, { runs: [x], into: 'side', checkout })).toMatchObject({
    folder: linked,
    blocked: null,
  });
});

test('merged or removed branches of long ago do not make the target of the others unclear', async () => {
  fixture.repo.git('checkout', '-q', '-b', 'side');
  const [merged, gone] = [await fixture.run({ 'm.txt': 'm\n' }), await fixture.run({ 'g.txt': 'g\n' })];
  fixture.repo.git('merge', '-q', '--no-ff', '-m', 'In', merged.worktree!.branch);
  fixture.repo.git('worktree', 'remove', '-f', gone.worktree!.path);
  fixture.repo.git('branch', '-D', gone.worktree!.branch);
  fixture.repo.git('checkout', '-q', 'main');
  expect(await fixture.plan(integrator)).toMatchObject({ planId: null, branches: [], blocked: null });
  const fresh = await fixture.run({ 'x.txt': 'x\n' });
  expect(await fixture.plan(integrator)).toMatchObject({ target: 'main', branches: [{ runId: fresh.id }] });
  const other = await fixture.run({ 'y.txt': 'y\n' });
  const onSide = { ...other, worktree: { ...other.worktree!, baseBranch: 'side' } };
  await expect(fixture.plan(integrator, { runs: [fresh, onSide] })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('main, side'),
  });
});

test('feedback in both branches neither makes them overlap nor conflict', async () => {
  const text = { 'REVIEW_FEEDBACK.md': 'Fix it\n' };
  await fixture.run({ 'x.txt': 'x\n', ...text });
  await fixture.run({ 'y.txt': 'y\n', 'REVIEW_FEEDBACK.md': 'Other\n' });
  const { branches } = await fixture.plan(integrator);
  expect(branches).toMatchObject([
    { outcome: 'merges', overlaps: [] },
    { outcome: 'merges', overlaps: [] },
  ]);
});

test('conflicting branches are named with their files; least overlap is merged first', async () => {
  const [one, other] = [
    await fixture.run({ 'a.txt': 'one of them\n' }),
    await fixture.run({ 'a.txt': 'the other\n' }),
  ];
  const alone = await fixture.run({ 'alone.txt': 'x\n' });
  const plan = await fixture.plan(integrator);
  expect(plan.branches.map(({ runId, outcome, conflicts }) => [runId, outcome, conflicts])).toEqual([
    [alone.id, 'merges', []],
    [one.id, 'merges', []],
    [other.id, 'conflict', ['a.txt']],
  ]);
  expect(plan.branches[2]).toMatchObject({
    overlaps: [one.id],
    messages: [expect.stringContaining('a.txt')],
    commitsWork: false,
  });
  const given = await fixture.plan(integrator, { order: 'given', runs: [other, one, alone] });
  expect(given.branches.map(({ runId, outcome }) => [runId, outcome])).toEqual([
    [other.id, 'merges'],
    [one.id, 'conflict'],
    [alone.id, 'merges'],
  ]);
  await integrator.carryOut(plan.planId!, { remove: false });
  expect(fixture.repo.read('a.txt')).toBe('one of them\n');
  const left = await fixture.plan(integrator);
  expect(left).toMatchObject({
    planId: null,
    blocked: { code: 'MERGE_CONFLICT', message: expect.stringContaining('a.txt') },
  });
});

describe('nothing is merged', () => {
  test('when the target has moved since the plan', { tags: ['F6'] }, async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const plan = await fixture.plan(integrator);
    fixture.repo.write('b.txt', 'b\n');
    const now = fixture.repo.commit('Meanwhile');
    await expect(integrator.carryOut(plan.planId!, { remove: false })).rejects.toMatchObject({
      code: 'BRANCH_MOVED',
    });
    expect(fixture.tip()).toBe(now);
    const again = await fixture.plan(integrator);
    expect(again.branches).toMatchObject([{ outcome: 'merges', isBehind: true }]);
    await integrator.carryOut(again.planId!, { remove: false });
    expect(fixture.repo.git('status', '--porcelain')).toBe('');
  });

  test('when files that would change are dirty in the folder, before or after the plan', async () => {
    await fixture.run({ 'a.txt': 'x\n' });
    const plan = await fixture.plan(integrator);
    fixture.repo.write('a.txt', 'mine\n');
    await expect(integrator.carryOut(plan.planId!, { remove: false })).rejects.toMatchObject({
      code: 'TARGET_BLOCKED',
      message: expect.stringContaining('a.txt has uncommitted changes'),
    });
    expect([fixture.tip(), fixture.repo.read('a.txt'), await fixture.store.intents()]).toEqual([
      plan.from,
      'mine\n',
      [],
    ]);
    expect(await fixture.plan(integrator)).toMatchObject({
      planId: null,
      blocked: { code: 'TARGET_BLOCKED' },
    });
  });

  test('when the target is checked out in another work tree', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    fixture.repo.git('branch', 'next');
    const elsewhere = join(fixture.repo.folder, 'else where');
    fixture.repo.git('worktree', 'add', '-q', elsewhere, 'next');
    const plan = await fixture.plan(integrator, { into: 'next' });
    expect(plan).toMatchObject({
      planId: null,
      blocked: { code: 'TARGET_BLOCKED', message: expect.stringContaining(elsewhere) },
    });
  });

  test('when the plan is not known, or was carried out', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const plan = await fixture.plan(integrator);
    await integrator.carryOut(plan.planId!, { remove: false });
    for (const id of [plan.planId!, 'nonsense'])
      await expect(integrator.carryOut(id, { remove: false })).rejects.toMatchObject({
        code: 'PLAN_UNKNOWN',
      });
  });

  test('when the branch to merge into is not there', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    await expect(fixture.plan(integrator, { into: 'nowhere' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });
});

describe('the check', () => {
  const treesLeft = () => fixture.worktrees.strays([]);

  test('sees the merged result in a work tree of its own, and nothing of that is left', async () => {
    const runs = [await fixture.run({ 'x.txt': 'x\n' }), await fixture.run({ 'y.txt': 'y\n' })];
    const check = fixture.check(
      'cat x.txt y.txt && echo new >untracked && test "$(git status --porcelain)" = "?? untracked"',
    );
    const plan = await fixture.plan(integrator, { check });
    expect(plan.check).toMatchObject({ outcome: 'passed', exitCode: 0, output: 'x\ny\n' });
    expect(plan.planId).not.toBeNull();
    expect((await treesLeft()).sort()).toEqual(runs.map(({ worktree }) => worktree!.path).sort());
    expect(fixture.repo.git('for-each-ref', '--format=%(refname)')).not.toMatch(/check|saved/);
    expect(await fixture.store.intents()).toEqual([]);
  });

  test('that fails, with its output', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const plan = await fixture.plan(integrator, { check: fixture.check('echo broken >&2; exit 3') });
    expect(plan).toMatchObject({
      planId: null,
      check: { outcome: 'failed', exitCode: 3, output: 'broken\n' },
      blocked: { code: 'CHECK_FAILED', message: expect.stringContaining('exit code 3') },
    });
  });

  test('that takes too long is ended, with what it started', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const pidFile = join(fixture.repo.folder, 'pid');
    const check = fixture.check(`sleep 300 & echo $! >${pidFile}; wait`, 500);
    const plan = await fixture.plan(integrator, { check });
    expect(plan).toMatchObject({
      planId: null,
      check: { outcome: 'timeout' },
      blocked: { code: 'CHECK_FAILED' },
    });
    expect(isAlive(Number(fixture.repo.read('../pid')))).toBe(false);
  });

  test('that passes and leaves a process behind does not keep it', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const pidFile = join(fixture.repo.folder, 'pid');
    const plan = await fixture.plan(integrator, {
      check: fixture.check(`setsid sleep 300 & echo $! >${pidFile}`),
    });
    expect(plan.check).toMatchObject({ outcome: 'passed' });
    expect(isAlive(Number(fixture.repo.read('../pid')))).toBe(false);
    expect(await treesLeft()).toHaveLength(1);
  });

  test('that cannot be started, or was not run, leaves nothing to approve', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const missing = { ...fixture.check(''), argv: ['/nowhere/at/all'] as [string] };
    expect(await fixture.plan(integrator, { check: missing })).toMatchObject({
      planId: null,
      check: { outcome: 'not_started' },
    });
    const unseen = await fixture.plan(integrator, { check: fixture.check('true'), runsCheck: false });
    expect(unseen).toMatchObject({ planId: null, blocked: null, check: { outcome: 'not_run' } });
  });

  test('that is configured and not trusted is not passed over', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const file = '/repo/.squad/squad.json';
    // The user's own is not run in its place.
    const check = fixture.check('true');
    expect(await fixture.plan(integrator, { check, untrustedCheck: file })).toMatchObject({
      planId: null,
      check: { outcome: 'not_run' },
      blocked: { code: 'CHECK_FAILED', message: expect.stringContaining(file) },
    });
  });

  test('whose hub was killed leaves a work tree that the next one clears', async () => {
    await fixture.run({ 'x.txt': 'x\n' });
    const place = { directory: fixture.repo.root, workspace: fixture.repo.root };
    const { worktree: tree } = await fixture.worktrees.plan({
      runId: 'run_0000000000' as Run['id'],
      name: 'check',
      ...place,
    });
    await fixture.worktrees.ensure(tree, null);
    await fixture.store.commit({ intents: [{ id: 'check:x', at: 1, kind: 'check', tree }], events: [] });
    expect(await integrator.recover()).toEqual([]);
    expect(existsSync(tree.path)).toBe(false);
    expect(await fixture.store.intents()).toEqual([]);
  });
});

test('work trees of merged runs are removed on request, unless a run is active in one', async () => {
  const [x, y] = [await fixture.run({ 'x.txt': 'x\n' }), await fixture.run({ 'y.txt': 'y\n' })];
  const plan = await fixture.plan(integrator);
  fixture.live = [{ ...y, status: 'running' }];
  const { removed } = await integrator.carryOut(plan.planId!, { remove: true });
  expect(removed).toEqual([
    { runId: x.id, path: x.worktree!.path, kept: null },
    { runId: y.id, path: y.worktree!.path, kept: expect.stringContaining('is running in it') },
  ]);
  expect([x, y].map(({ worktree }) => existsSync(worktree!.path))).toEqual([false, true]);
  expect(fixture.tip(x.worktree!.branch)).toMatch(/^[0-9a-f]{40}$/);
  const events = await fixture.store.events({ types: ['worktree.removed', 'worktree.kept'], limit: 9 });
  expect(events.map(({ body }) => body.type)).toEqual(['worktree.removed', 'worktree.kept']);
});

test('a branch whose folder was removed is merged anyway, and a missing branch is reported', async () => {
  const [x, y] = [await fixture.run({ 'x.txt': 'x\n' }), await fixture.run({ 'y.txt': 'y\n' })];
  rmSync(x.worktree!.path, { recursive: true });
  rmSync(y.worktree!.path, { recursive: true });
  fixture.repo.git('worktree', 'prune');
  fixture.repo.git('branch', '-D', y.worktree!.branch);
  const plan = await fixture.plan(integrator, { named: named(x, y) });
  expect(plan.branches).toMatchObject([{ runId: x.id, outcome: 'merges' }]);
  expect(plan.leftOut).toEqual([{ runId: y.id, why: expect.stringContaining('is gone'), canBeNamed: false }]);
});

const STEPS = [
  ...['intent written', 'work committed', 'index locked', 'branch moved'],
  ...['old files removed', 'new files written', 'index installed', 'moved'],
];

describe('half-way', () => {
  beforeEach(async () => {
    await fixture.run({ 'x.txt': 'x\n' }, { uncommitted: { 'a.txt': 'changed\n' } });
  });

  /** The branch, the folder and the events say the same, and nothing is under way any more. */
  async function isWhole(from: string): Promise<boolean> {
    const isMerged = fixture.tip() !== from;
    expect(await fixture.store.intents()).toEqual([]);
    expect(await merged()).toHaveLength(isMerged ? 1 : 0);
    expect(fixture.repo.git('status', '--porcelain')).toBe('');
    expect(fixture.repo.read('a.txt')).toBe(isMerged ? 'changed\n' : 'one\n');
    return isMerged;
  }

  test.each(STEPS)('a hub killed there (%s): the next one finishes it or takes it back', async step => {
    const from = fixture.tip();
    const script = join(import.meta.dirname, 'carry-out-and-die.ts');
    const { folder, env } = fixture.repo;
    const { signal, stderr } = spawnSync(process.execPath, [script, JSON.stringify({ folder, env }), step], {
      encoding: 'utf8',
    });
    expect(signal, stderr).toBe('SIGKILL');
    expect(await fixture.store.intents()).toHaveLength(1);
    expect(await integrator.recover()).toEqual([expect.stringContaining('Merging into main')]);
    expect(await isWhole(from)).toBe(STEPS.indexOf(step) >= STEPS.indexOf('branch moved'));
    const plan = await fixture.plan(integrator);
    if (plan.planId) await integrator.carryOut(plan.planId, { remove: false });
    expect(await isWhole(from)).toBe(true);
  });

  test.each(STEPS.slice(0, -1))(
    'a step that fails there (%s) is taken back or gone on from at once',
    async step => {
      const { planId, from } = await fixture.plan(integrator);
      fixture.checkpoint = name => {
        if (name === step) throw new Error('as if the disk were full');
      };
      const end = await integrator.carryOut(planId!, { remove: false }).then(
        () => 'merged',
        () => 'not merged',
      );
      expect((await isWhole(from!)) ? 'merged' : 'not merged').toBe(end);
    },
  );
});
