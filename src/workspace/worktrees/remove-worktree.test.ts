import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { processesIn } from '../../process/table/processes-in.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { openGit } from '../git/git.ts';
import { agentGitOf } from '../git/git-folder.ts';
import { runId, WorktreeFixture } from '../testing/worktree-fixture.ts';

let fixture: WorktreeFixture;
beforeEach(() => {
  fixture = new WorktreeFixture();
});
afterEach(() => fixture.remove());

const gitDirOf = ({ path }: Worktree) =>
  readFileSync(join(path, '.git'), 'utf8').slice('gitdir: '.length).trim();
const remove = (worktree: Worktree, dropEmptyBranch = true) =>
  fixture.worktrees.remove(worktree, { dropEmptyBranch });
const objectBytes = () => fixture.repo.git('count-objects', '-v');
const saved = `refs/squad/saved/${runId(1)}`;

function commitIn({ path }: Worktree, message = 'Work'): string {
  fixture.repo.git('-C', path, 'add', '-A');
  fixture.repo.git('-C', path, 'commit', '-q', '--allow-empty', '-m', message);
  return fixture.repo.git('-C', path, 'rev-parse', 'HEAD').trim();
}

test('folder, record and empty branch go; nothing else does', async () => {
  const [one, other] = [await fixture.made(), await fixture.made({ runId: runId(2) })];
  expect(await remove(one)).toEqual({ outcome: 'removed', savedRef: null, branchIsGone: true });
  expect(readdirSync(dirname(one.path))).toEqual([runId(2)]);
  expect(fixture.repo.git('branch', '--list', 'squad/*')).toBe(`+ ${other.branch}\n`);
  expect(await remove(one)).toEqual({ outcome: 'gone', branchIsGone: true });
});

test('empty folders that a sandbox left, .git among them, hold nothing', async () => {
  const worktree = await fixture.made();
  for (const name of ['.git', '.codex', '.agents'])
    mkdirSync(join(worktree.path, 'app', name), { recursive: true });
  expect(await remove(worktree)).toEqual({ outcome: 'removed', savedRef: null, branchIsGone: true });
});

test('a branch with commits stays, and an empty one unless it is to go', async () => {
  const [one, other] = [await fixture.made(), await fixture.made({ runId: runId(2) })];
  commitIn(one);
  expect(await remove(one)).toEqual({ outcome: 'removed', savedRef: null, branchIsGone: false });
  expect(await remove(other, false)).toEqual({ outcome: 'removed', savedRef: null, branchIsGone: false });
  expect(fixture.repo.git('branch', '--list', 'squad/*').match(/squad/g)).toHaveLength(2);
});

test('hundreds of megabytes that are not committed are copied into the repository only when the user says so', async () => {
  const worktree = await fixture.made();
  const file = join(worktree.path, 'core.dump');
  writeFileSync(file, 'begin');
  truncateSync(file, 300 * 1024 ** 2);
  const before = objectBytes();
  const why = expect.stringMatching(
    /take 300\.0 MiB \(core\.dump 300\.0 MiB\).*squad worktrees prune run_\S+ --save-large/,
  );
  expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 1, large: why, held: null });
  expect(await remove(worktree)).toEqual({ outcome: 'kept', why });
  expect(existsSync(file)).toBe(true);
  expect(objectBytes()).toBe(before);
  expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true, saveLarge: true })).toMatchObject({
    outcome: 'removed',
    savedRef: saved,
  });
  expect(fixture.repo.git('cat-file', '-s', `${saved}:core.dump`).trim()).toBe(String(300 * 1024 ** 2));
});

test('uncommitted work is kept under a ref, on top of the commits', async () => {
  const { repo } = fixture;
  const worktree = await fixture.made();
  writeFileSync(join(worktree.path, 'done.txt'), 'done\n');
  const tip = commitIn(worktree);
  writeFileSync(join(worktree.path, 'a.txt'), 'changed\n');
  writeFileSync(join(worktree.path, 'staged.txt'), 'staged\n');
  repo.git('-C', worktree.path, 'add', 'staged.txt');
  writeFileSync(join(worktree.path, 'new näme.txt'), 'new\n');
  rmSync(join(worktree.path, 'app/b.txt'));
  expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 4 });
  expect(await remove(worktree)).toEqual({ outcome: 'removed', savedRef: saved, branchIsGone: false });
  expect(repo.git('rev-parse', `${saved}^`).trim()).toBe(tip);
  expect(repo.git('-c', 'core.quotePath=false', 'diff', '--name-status', `${saved}^`, saved)).toBe(
    'M\ta.txt\nD\tapp/b.txt\nA\tnew näme.txt\nA\tstaged.txt\n',
  );
  expect(repo.git('rev-parse', worktree.branch).trim()).toBe(tip);
});

test('a second time under a second ref', async () => {
  for (const ref of [saved, `${saved}-2`]) {
    const worktree = await fixture.made();
    writeFileSync(join(worktree.path, 'a.txt'), ref);
    expect(await remove(worktree)).toMatchObject({ savedRef: ref });
    expect(fixture.repo.git('show', `${ref}:a.txt`)).toBe(ref);
  }
});

test('copied files that nobody touched are no work; one that was changed is', async () => {
  const { repo } = fixture;
  repo.write('one.env', '1');
  repo.write('other.env', '2');
  const { worktree } = await fixture.plan();
  await fixture.worktrees.ensure(worktree, fixture.setup({ copy: ['one.env', 'other.env'] }));
  expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 0 });
  await expect
    .poll(async () => {
      // Until the clock of the file system has gone on.
      writeFileSync(join(worktree.path, 'other.env'), 'changed');
      return (await fixture.worktrees.state(worktree)).uncommitted;
    })
    .toBe(1);
  expect(await remove(worktree)).toMatchObject({ savedRef: saved });
  expect(repo.git('diff', '--name-only', `${saved}^`, saved)).toBe('other.env\n');
});

test('commits that no branch has are kept under a ref', async () => {
  const worktree = await fixture.made();
  fixture.repo.git('-C', worktree.path, 'checkout', '-q', '--detach');
  const loose = commitIn(worktree);
  expect(await remove(worktree)).toEqual({ outcome: 'removed', savedRef: saved, branchIsGone: true });
  expect(fixture.repo.git('rev-parse', saved).trim()).toBe(loose);
});

test('a git of our own that reads in it is waited for, and is not listed as a process', async () => {
  const worktree = await fixture.made();
  const git = await openGit(worktree.path, fixture.repo.env);
  const input = Promise.withResolvers<Buffer>();
  const reading = git.run(['hash-object', '--stdin'], { input: input.promise });
  await expect.poll(() => processesIn(worktree.path)?.length).not.toBe(0);
  expect(await fixture.worktrees.state(worktree)).toMatchObject({ processes: [] });
  const removing = remove(worktree);
  input.resolve(Buffer.from('one\n'));
  expect(String(await reading)).toMatch(/^[0-9a-f]{40}/);
  expect(await removing).toMatchObject({ outcome: 'removed' });
});

describe('stays, and says why, when', () => {
  const cases: Record<string, [RegExp, (worktree: Worktree) => void]> = {
    'it is locked': [
      /locked \(on a stick\)/,
      ({ path }) => void fixture.repo.git('worktree', 'lock', '--reason', 'on a stick', path),
    ],
    'a merge is under way': [
      /a merge is under way/,
      tree => writeFileSync(join(gitDirOf(tree), 'MERGE_HEAD'), tree.base),
    ],
    'a rebase is under way': [
      /a rebase is under way/,
      tree => mkdirSync(join(gitDirOf(tree), 'rebase-merge')),
    ],
    'git cannot read it': [/git failed/, tree => writeFileSync(join(gitDirOf(tree), 'index'), 'nonsense')],
    'it holds another repository': [
      /another repository, inner/,
      ({ path }) => {
        fixture.repo.git('init', '-q', join(path, 'inner'));
        fixture.repo.git('-C', join(path, 'inner'), 'commit', '-q', '--allow-empty', '-m', 'x');
      },
    ],
    'what is not committed cannot be put under a ref': [
      /git failed/,
      ({ path }) => {
        writeFileSync(join(path, 'new.txt'), 'new');
        writeFileSync(fixture.repo.path('.git/refs/squad'), '');
      },
    ],
  };
  test.each(Object.entries(cases))('%s', async (_, [why, happen]) => {
    const worktree = await fixture.made();
    happen(worktree);
    expect(await remove(worktree)).toEqual({ outcome: 'kept', why: expect.stringMatching(why) });
    expect(existsSync(join(worktree.path, 'a.txt'))).toBe(true);
  });

  test.runIf(process.platform === 'linux')('a process is running in it', async () => {
    const worktree = await fixture.made();
    const child: ChildProcess = spawn('sleep', ['1000'], { cwd: join(worktree.path, 'app') });
    try {
      await once(child, 'spawn');
      const { processes } = await fixture.worktrees.state(worktree);
      expect(processes).toEqual([{ pid: child.pid, command: 'sleep 1000' }]);
      expect(await remove(worktree)).toEqual({
        outcome: 'kept',
        why: `a process is running in it: sleep 1000 (${child.pid})`,
      });
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    expect(await remove(worktree)).toMatchObject({ outcome: 'removed' });
  });

  test('its repository is gone', async () => {
    const worktree = await fixture.made();
    rmSync(fixture.repo.root, { recursive: true });
    expect(await remove(worktree)).toMatchObject({ outcome: 'kept' });
    expect(await fixture.worktrees.state(worktree)).toMatchObject({ folder: 'foreign', tip: null });
  });
});

test('the Git folder of its agents goes when work tree and repository are gone, and is a stray if nobody knows it', async () => {
  const worktree = await fixture.made();
  await fixture.worktrees.confine(worktree, 'write');
  const own = agentGitOf(worktree.path);
  expect(await fixture.worktrees.strays([])).toEqual([worktree.path]);
  rmSync(fixture.repo.root, { recursive: true });
  rmSync(worktree.path, { recursive: true });
  expect(await fixture.worktrees.strays([worktree])).toEqual([]);
  expect(await fixture.worktrees.strays([])).toEqual([own]);
  expect(await remove(worktree)).toEqual({ outcome: 'gone', branchIsGone: true });
  expect(existsSync(own)).toBe(false);
});

describe('submodules that were checked out in it', () => {
  async function withSubmodule(): Promise<Worktree> {
    const { repo } = fixture;
    const other = join(repo.folder, 'other');
    repo.git('init', '-q', '-b', 'main', other);
    repo.git('-C', other, 'commit', '-q', '--allow-empty', '-m', 'Other');
    repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'lib');
    repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'deep/a');
    repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'deep/b');
    repo.commit('Submodule');
    const worktree = await fixture.made();
    repo.git(
      '-C',
      worktree.path,
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'update',
      '--init',
    );
    return worktree;
  }

  test('go with it when all of them is elsewhere too', async () => {
    const worktree = await withSubmodule();
    expect(await remove(worktree)).toEqual({ outcome: 'removed', savedRef: null, branchIsGone: true });
  });

  test('keep it there when they have work of their own', async () => {
    const worktree = await withSubmodule();
    writeFileSync(join(worktree.path, 'lib/new.txt'), 'new');
    expect(await remove(worktree)).toMatchObject({
      why: expect.stringContaining('changes that are not committed'),
    });
    commitIn({ ...worktree, path: join(worktree.path, 'lib') });
    expect(await remove(worktree)).toMatchObject({ why: expect.stringContaining('on none of its remotes') });
  });
});

test('deleted by hand: git forgets it, and the branch stays if it has something', async () => {
  const worktree = await fixture.made();
  commitIn(worktree);
  rmSync(worktree.path, { recursive: true });
  expect(await fixture.worktrees.state(worktree)).toMatchObject({
    folder: 'missing',
    ahead: 1,
    isMerged: false,
  });
  expect(await remove(worktree)).toEqual({ outcome: 'gone', branchIsGone: false });
  expect(fixture.repo.git('worktree', 'list')).not.toContain(runId(1));
});

test('the remainder of an interrupted removal is not a stray, and goes with the next one', async () => {
  const worktree = await fixture.made();
  const rest = join(dirname(worktree.path), '.removing-run_x-1234');
  mkdirSync(join(rest, 'closed'), { recursive: true });
  writeFileSync(join(rest, 'closed/file'), '');
  chmodSync(join(rest, 'closed'), 0o500);
  mkdirSync(join(dirname(worktree.path), 'run_unknown'));
  expect(await fixture.worktrees.strays([worktree])).toEqual([join(dirname(worktree.path), 'run_unknown')]);
  await remove(worktree);
  expect(existsSync(rest)).toBe(false);
});

test('its branch compared with its target branch', async () => {
  const { repo } = fixture;
  const worktree = await fixture.made();
  const state = () => fixture.worktrees.state(worktree);
  expect(await state()).toMatchObject({
    folder: 'there',
    tip: worktree.base,
    ahead: 0,
    isMerged: true,
    error: null,
  });
  const tip = commitIn(worktree);
  expect(await state()).toMatchObject({ tip, ahead: 1, isMerged: false });
  repo.git('merge', '-q', '--no-ff', '-m', 'Merge', worktree.branch);
  expect(await state()).toMatchObject({ tip, ahead: 1, isMerged: true });
  repo.git('checkout', '-q', '-b', 'elsewhere');
  repo.git('branch', '-D', 'main');
  expect(await state()).toMatchObject({ isMerged: null });
});
