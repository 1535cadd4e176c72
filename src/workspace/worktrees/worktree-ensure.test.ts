import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Worktree } from '../../schema/worktree.ts';
import { privateGit } from '../git/private-git.ts';
import { runId, WorktreeFixture } from '../testing/worktree-fixture.ts';
import { createWorktrees } from './worktrees.ts';

let fixture: WorktreeFixture;
beforeEach(() => {
  fixture = new WorktreeFixture();
});
afterEach(() => fixture.remove());

const gitDirOf = ({ path }: Worktree) =>
  readFileSync(join(path, '.git'), 'utf8').slice('gitdir: '.length).trim();
const branchAt = ({ path }: Worktree) =>
  fixture.repo.git('-C', path, 'symbolic-ref', '--short', 'HEAD').trim();

test('makes it once, on its branch, at its commit', async () => {
  const { worktree } = await fixture.plan();
  expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
  expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: false });
  expect(branchAt(worktree)).toBe(worktree.branch);
  expect(readFileSync(join(worktree.path, 'app/b.txt'), 'utf8')).toBe('two\n');
  expect(fixture.repo.git('-C', worktree.path, 'status', '--porcelain')).toBe('');
  expect(fixture.repo.git('status', '--porcelain')).toBe('');
});

test('a lock of its branch that a killed git left does not stand in the way', async () => {
  const { worktree } = await fixture.plan();
  const lock = join(worktree.repository, '.git', 'refs', 'heads', `${worktree.branch}.lock`);
  mkdirSync(dirname(lock), { recursive: true });
  writeFileSync(lock, '');
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(lock, hourAgo, hourAgo);
  expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
  expect(branchAt(worktree)).toBe(worktree.branch);
  expect(existsSync(lock)).toBe(false);
});

test('fifty at once on one repository: none fails', async () => {
  const planned = await Promise.all(Array.from({ length: 50 }, (_, n) => fixture.plan({ runId: runId(n) })));
  // A second hub, with a folder of its own, is in no queue with the first.
  const other = createWorktrees({ folder: join(fixture.repo.folder, 'other'), env: fixture.repo.env });
  const others = await Promise.all(
    Array.from({ length: 10 }, (_, n) => other.plan(fixture.ask({ runId: runId(100 + n) }))),
  );
  const made = await Promise.all([
    ...planned.map(({ worktree }) => fixture.worktrees.ensure(worktree, null)),
    ...others.map(({ worktree }) => other.ensure(worktree, null)),
  ]);
  expect(made).toEqual(Array(60).fill({ made: true }));
  expect(fixture.repo.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(61);
  const removed = await Promise.all(
    planned.map(({ worktree }) => fixture.worktrees.remove(worktree, { dropEmptyBranch: true })),
  );
  expect(removed).toEqual(Array(50).fill({ outcome: 'removed', savedRef: null, branchIsGone: true }));
}, 300_000); // a quarter of a minute on a quiet machine, all of it processes of git

test('the same one asked for twice at once is made once', async () => {
  const { worktree } = await fixture.plan();
  const made = await Promise.all([1, 2, 3].map(() => fixture.worktrees.ensure(worktree, null)));
  expect(made.map(each => each.made)).toEqual([true, false, false]);
});

test('runs nothing that the repository names', async () => {
  const { repo } = fixture;
  const mark = join(repo.folder, 'tripped');
  const trap = join(repo.folder, 'trap.sh');
  writeFileSync(trap, `#!/bin/sh\necho "$0 $*" >>${mark}\ncat\n`, { mode: 0o755 });
  for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change']) {
    writeFileSync(repo.path(`.git/hooks/${hook}`), `#!/bin/sh\n${trap} </dev/null\n`);
    chmodSync(repo.path(`.git/hooks/${hook}`), 0o755);
  }
  repo.git('-c', 'core.hooksPath=/dev/null', 'config', 'filter.lfs.smudge', trap);
  repo.git('config', 'filter.lfs.process', trap);
  repo.git('config', 'filter.lfs.required', 'true');
  repo.git('config', 'core.fsmonitor', trap);
  repo.write('.git/info/attributes', '*.txt filter=lfs\n');
  const worktree = await fixture.made();
  expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('one\n');
  await fixture.worktrees.state(worktree);
  writeFileSync(join(worktree.path, 'new.txt'), 'new\n');
  expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toMatchObject({
    outcome: 'removed',
  });
  expect(existsSync(mark)).toBe(false);
});

describe('an interrupted work tree is made anew', () => {
  const cuts: Record<string, (worktree: Worktree) => void> = {
    'set-up not finished': worktree => {
      renameSync(join(gitDirOf(worktree), 'squad-ready'), join(gitDirOf(worktree), 'squad-making'));
      writeFileSync(join(worktree.path, 'half.txt'), 'half');
    },
    'files half checked out, and locked by git': worktree => {
      rmSync(join(gitDirOf(worktree), 'squad-ready'));
      rmSync(join(gitDirOf(worktree), 'index'));
      writeFileSync(join(gitDirOf(worktree), 'index.lock'), '');
      writeFileSync(join(gitDirOf(worktree), 'locked'), 'initializing');
      rmSync(join(worktree.path, 'a.txt'));
    },
    'registered, with an empty folder': worktree => {
      rmSync(join(gitDirOf(worktree), 'squad-ready'));
      writeFileSync(join(gitDirOf(worktree), 'locked'), 'initializing');
      rmSync(worktree.path, { recursive: true });
      mkdirSync(worktree.path);
    },
    'only the branch': worktree => {
      fixture.repo.git('worktree', 'remove', '--force', worktree.path);
    },
    'no branch': worktree => {
      renameSync(join(gitDirOf(worktree), 'squad-ready'), join(gitDirOf(worktree), 'squad-making'));
      fixture.repo.git('update-ref', '-d', `refs/heads/${worktree.branch}`);
    },
    'only an empty folder': worktree => {
      fixture.repo.git('worktree', 'remove', '--force', worktree.path);
      fixture.repo.git('branch', '-D', worktree.branch);
      mkdirSync(worktree.path, { recursive: true });
    },
  };

  test.each(Object.entries(cuts))('%s', async (_, cut) => {
    const worktree = await fixture.made();
    cut(worktree);
    expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
    expect(branchAt(worktree)).toBe(worktree.branch);
    expect(fixture.repo.git('-C', worktree.path, 'status', '--porcelain')).toBe('');
    expect(existsSync(join(worktree.path, 'half.txt'))).toBe(false);
    expect(fixture.repo.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(2);
    expect(readdirSync(join(worktree.path, '..'))).toEqual([runId(1)]);
  });
});

test('made anew by hand: whatever is in it stays', async () => {
  const { repo } = fixture;
  const worktree = await fixture.made();
  repo.git('worktree', 'remove', worktree.path);
  repo.git('worktree', 'add', '-q', worktree.path, worktree.branch);
  writeFileSync(join(worktree.path, 'theirs.txt'), 'theirs');
  expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: false });
  expect(readFileSync(join(worktree.path, 'theirs.txt'), 'utf8')).toBe('theirs');
  const saved = `refs/squad/saved/${runId(1)}`;
  expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toMatchObject({
    savedRef: saved,
  });
  expect(repo.git('show', `${saved}:theirs.txt`)).toBe('theirs');
});

test('a hub that died before it had repaired what its git made makes it anew', async () => {
  const worktree = await fixture.made();
  const gitDir = gitDirOf(worktree);
  for (const name of readdirSync(gitDir)) if (name.startsWith('squad-')) rmSync(join(gitDir, name));
  const commonDir = dirname(dirname(gitDir));
  const place = await privateGit({ root: worktree.path, gitDir, commonDir }, async () => []);
  writeFileSync(join(worktree.path, '.git'), `gitdir: ${place}/worktrees/${basename(gitDir)}\n`);
  expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
  expect(gitDirOf(worktree)).toBe(gitDir);
  expect(branchAt(worktree)).toBe(worktree.branch);
});

describe('git was cut off in it, and somebody has been there since', () => {
  const interrupted = async () => {
    const worktree = await fixture.made();
    for (const name of ['squad-ready', 'index']) rmSync(join(gitDirOf(worktree), name));
    return worktree;
  };

  test('their changes are saved before it is made anew', async () => {
    const worktree = await interrupted();
    writeFileSync(join(worktree.path, 'theirs.txt'), 'theirs');
    expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
    expect(existsSync(join(worktree.path, 'theirs.txt'))).toBe(false);
    expect(fixture.repo.git('show', `refs/squad/saved/${runId(1)}:theirs.txt`)).toBe('theirs');
  });

  test('changes that cannot be saved are in the way', async () => {
    const worktree = await interrupted();
    execFileSync('git', ['init', '-q', join(worktree.path, 'inner')]);
    await expect(fixture.worktrees.ensure(worktree, null)).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('another repository, inner'),
    });
    expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toMatchObject({
      outcome: 'kept',
    });
    expect(existsSync(join(worktree.path, 'inner'))).toBe(true);
  });

  test('nothing is saved of what git alone has put there', async () => {
    const worktree = await interrupted();
    rmSync(join(worktree.path, 'a.txt'));
    expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toEqual({
      outcome: 'removed',
      savedRef: null,
      branchIsGone: true,
    });
  });
});

test('deleted by hand: made again from its branch, with every commit', async () => {
  const { repo } = fixture;
  const worktree = await fixture.made();
  writeFileSync(join(worktree.path, 'work.txt'), 'work\n');
  repo.git('-C', worktree.path, 'add', '-A');
  repo.git('-C', worktree.path, 'commit', '-q', '-m', 'Work');
  for (const andForgotten of [false, true]) {
    rmSync(worktree.path, { recursive: true });
    if (andForgotten) repo.git('worktree', 'prune');
    expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
    expect(readFileSync(join(worktree.path, 'work.txt'), 'utf8')).toBe('work\n');
  }
});

test('commits that no branch has are kept under a ref when the folder was deleted', async () => {
  const { repo } = fixture;
  const worktree = await fixture.made();
  repo.git('-C', worktree.path, 'checkout', '-q', '--detach');
  repo.git('-C', worktree.path, 'commit', '-q', '--allow-empty', '-m', 'Loose');
  const loose = repo.git('-C', worktree.path, 'rev-parse', 'HEAD').trim();
  rmSync(worktree.path, { recursive: true });
  await fixture.worktrees.ensure(worktree, null);
  expect(repo.git('rev-parse', `refs/squad/saved/${runId(1)}`).trim()).toBe(loose);
});

describe('is not made over', () => {
  const cases: Record<string, [string, (worktree: Worktree) => void]> = {
    'another folder': ['not a work tree', ({ path }) => writeFileSync(join(path, 'theirs.txt'), 'x')],
    'a folder with an empty .git': ['not a work tree', ({ path }) => mkdirSync(join(path, '.git'))],
    'another repository': [
      'repository of its own',
      ({ path }) => void execFileSync('git', ['init', '-q', path]),
    ],
    'a work tree git has forgotten': [
      'git no longer knows',
      ({ path }) => writeFileSync(join(path, '.git'), `gitdir: ${path}/nowhere\n`),
    ],
    'a work tree of another repository': [
      'another repository',
      ({ path }) => {
        execFileSync('git', ['init', '-q', `${path}.other`]);
        mkdirSync(`${path}.other/.git/worktrees/x`, { recursive: true });
        writeFileSync(`${path}.other/.git/worktrees/x/gitdir`, `${path}/.git\n`);
        writeFileSync(join(path, '.git'), `gitdir: ${path}.other/.git/worktrees/x\n`);
      },
    ],
  };
  test.each(Object.entries(cases))('%s', async (_, [why, put]) => {
    const { worktree } = await fixture.plan();
    mkdirSync(worktree.path, { recursive: true });
    put(worktree);
    await expect(fixture.worktrees.ensure(worktree, null)).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining(why),
    });
    expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toMatchObject({
      outcome: 'kept',
    });
    expect(existsSync(worktree.path)).toBe(true);
  });

  test('a link', async () => {
    const { worktree } = await fixture.plan();
    const elsewhere = join(fixture.repo.folder, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'theirs.txt'), 'x');
    mkdirSync(join(worktree.path, '..'), { recursive: true });
    symlinkSync(elsewhere, worktree.path);
    await expect(fixture.worktrees.ensure(worktree, null)).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toMatchObject({
      outcome: 'kept',
    });
    expect(readdirSync(elsewhere)).toEqual(['theirs.txt']);
  });
});

test('a branch of that name that goes on from somewhere else is not taken over', async () => {
  const { worktree } = await fixture.plan();
  const { repo } = fixture;
  const tree = repo.git('rev-parse', 'HEAD^{tree}').trim();
  repo.git('branch', worktree.branch, repo.git('commit-tree', tree, '-m', 'Foreign').trim());
  await expect(fixture.worktrees.ensure(worktree, null)).rejects.toMatchObject({ code: 'BRANCH_EXISTS' });
});

test('a branch that is checked out elsewhere is reported, with the place', async () => {
  const { repo } = fixture;
  const worktree = await fixture.made();
  repo.git('worktree', 'remove', worktree.path);
  repo.git('checkout', '-q', worktree.branch);
  await expect(fixture.worktrees.ensure(worktree, null)).rejects.toMatchObject({
    code: 'GIT_FAILED',
    suggestions: [expect.stringContaining(repo.root)],
  });
  expect(repo.git('rev-parse', worktree.branch).trim()).toBe(worktree.base);
});

test('waits for a lock that somebody else lets go', async () => {
  const { worktree } = await fixture.plan();
  const lock = fixture.repo.path(`.git/refs/heads/${worktree.branch}.lock`);
  mkdirSync(join(lock, '..'), { recursive: true });
  writeFileSync(lock, '');
  const making = fixture.worktrees.ensure(worktree, null);
  setTimeout(() => rmSync(lock), 300);
  expect(await making).toEqual({ made: true });
});

test('a missing repository is reported', async () => {
  const { worktree } = await fixture.plan();
  rmSync(fixture.repo.root, { recursive: true });
  await expect(fixture.worktrees.ensure(worktree, null)).rejects.toMatchObject({ code: 'NOT_A_REPOSITORY' });
});

test('a cancelled work tree leaves nothing behind', async () => {
  const { worktree } = await fixture.plan();
  const before = fixture.repo.git('for-each-ref');
  await expect(fixture.worktrees.ensure(worktree, null, AbortSignal.abort())).rejects.toThrow();
  expect(existsSync(worktree.path)).toBe(false);
  expect(fixture.repo.git('for-each-ref')).toBe(before);
});
