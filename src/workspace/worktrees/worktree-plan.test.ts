import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runId, WorktreeFixture } from '../testing/worktree-fixture.ts';
import { createWorktrees } from './worktrees.ts';

let fixture: WorktreeFixture;
beforeEach(() => {
  fixture = new WorktreeFixture();
});
afterEach(() => fixture.remove());

test('says where it will be, on which branch, of which commit, and changes nothing', async () => {
  const { repo, folder } = fixture;
  const before = repo.git('for-each-ref');
  const { worktree, directory, notes } = await fixture.plan();
  expect(worktree).toMatchObject({
    branch: `squad/coder/${runId(1)}`,
    repository: repo.root,
    base: repo.git('rev-parse', 'HEAD').trim(),
    baseBranch: 'main',
    workspace: worktree.path,
  });
  expect(worktree.path).toMatch(new RegExp(`^${folder}/repo-[0-9a-f]{8}/${runId(1)}$`));
  expect(directory).toBe(worktree.path);
  expect(notes).toEqual([]);
  expect(existsSync(folder)).toBe(false);
  expect(repo.git('for-each-ref')).toBe(before);
});

test('a subfolder of the repository is that subfolder of the work tree', async () => {
  const { root } = fixture.repo;
  const { worktree, directory } = await fixture.plan({
    workspace: join(root, 'app'),
    directory: join(root, 'app'),
  });
  expect(worktree.workspace).toBe(join(worktree.path, 'app'));
  expect(directory).toBe(worktree.workspace);
});

test('the way there may be a link', async () => {
  const link = join(fixture.repo.folder, 'link');
  symlinkSync(fixture.repo.root, link);
  const direct = await fixture.plan();
  expect(await fixture.plan({ workspace: link, directory: link })).toEqual(direct);
});

test('counts what is not committed and so not in it', async () => {
  fixture.repo.append('a.txt', 'more\n');
  fixture.repo.write('new.txt', 'new\n');
  const { notes } = await fixture.plan();
  expect(notes).toEqual(['2 files have changes that are not committed, and therefore not in the work tree.']);
});

test('a folder that is not committed is made in it, with a note', async () => {
  fixture.repo.write('.gitignore', 'scratch\n');
  fixture.repo.commit('Ignore');
  mkdirSync(fixture.repo.path('scratch/x'), { recursive: true });
  const { worktree, directory, notes } = await fixture.plan({ directory: fixture.repo.path('scratch/x') });
  expect(notes).toEqual(['scratch/x is not committed: it is an empty folder in the work tree.']);
  await fixture.worktrees.ensure(worktree, null, undefined, directory);
  expect(existsSync(join(worktree.path, 'scratch/x'))).toBe(true);
});

test('nothing checked out: no branch to go back to', async () => {
  fixture.repo.git('checkout', '-q', '--detach');
  expect((await fixture.plan()).worktree.baseBranch).toBeNull();
});

test('a linked work tree is a repository like any other', async () => {
  const { repo } = fixture;
  const linked = join(repo.folder, 'linked one');
  repo.git('worktree', 'add', '-q', '-b', 'side', linked);
  const { worktree } = await fixture.plan({ directory: linked, workspace: linked });
  expect(worktree).toMatchObject({ repository: linked, baseBranch: 'side' });
  const main = await fixture.plan({ runId: runId(2) });
  expect(join(worktree.path, '..')).toBe(join(main.worktree.path, '..'));
});

test('in a work tree of ours, the repository is the one it came of', async () => {
  const ours = await fixture.made();
  const { worktree } = await fixture.plan({ runId: runId(2), directory: ours.path, workspace: ours.path });
  expect(worktree).toMatchObject({ repository: fixture.repo.root, baseBranch: ours.branch });
});

test('a repository inside another is the one that counts', async () => {
  const { repo } = fixture;
  repo.git('init', '-q', '-b', 'inner', 'nested');
  repo.git('-C', 'nested', 'commit', '-q', '--allow-empty', '-m', 'Inner');
  const { worktree } = await fixture.plan({ directory: repo.path('nested') });
  expect(worktree).toMatchObject({
    repository: repo.path('nested'),
    baseBranch: 'inner',
    workspace: worktree.path,
  });
});

test('an empty .git folder is no repository', async () => {
  const { repo } = fixture;
  mkdirSync(repo.path('app/.git'), { recursive: true });
  const { worktree } = await fixture.plan({ directory: repo.path('app') });
  expect(worktree).toMatchObject({ repository: repo.root });
});

test('names submodules, pointers and filters that are not as usual in it', async () => {
  const { repo } = fixture;
  const other = join(repo.folder, 'other');
  mkdirSync(other);
  execFileSync('git', ['init', '-q', other]);
  repo.git('-C', other, 'commit', '-q', '--allow-empty', '-m', 'Other');
  repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'lib/other');
  repo.write('.gitattributes', '*.bin filter=lfs diff=lfs\n*.key filter=crypt\n# *.x filter=none\n');
  repo.commit('Unusual');
  const { notes } = await fixture.plan();
  expect(notes).toHaveLength(3);
  expect(notes[0]).toContain('(lib/other)');
  expect(notes[1]).toContain('LFS');
  expect(notes[2]).toContain('filter crypt');
});

test('a shallow clone will do, and so will a path with anything in it', async () => {
  const { repo } = fixture;
  repo.commit('Second');
  const odd = join(repo.folder, 'odd "näme"\nof two lines');
  repo.git('clone', '-q', '--depth', '1', `file://${repo.root}`, odd);
  const { worktree } = await fixture.plan({ directory: odd, workspace: odd });
  expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
  expect(existsSync(join(worktree.path, 'app/b.txt'))).toBe(true);
});

test('a fork begins at the tip of the other branch, at the same place in it', async () => {
  const { repo } = fixture;
  const coder = await fixture.made({ workspace: repo.path('app'), directory: repo.path('app') });
  writeFileSync(join(coder.path, 'work.txt'), 'work\n');
  repo.git('-C', coder.path, 'add', '-A');
  repo.git('-C', coder.path, 'commit', '-q', '-m', 'Work');
  const planned = await fixture.plan({
    ...{ runId: runId(2), name: 'reviewer', from: coder },
    ...{ workspace: repo.path('app'), directory: coder.workspace },
  });
  const { path } = planned.worktree;
  expect(planned.worktree).toEqual({
    ...{ path, branch: `squad/reviewer/${runId(2)}`, repository: repo.root },
    ...{
      base: repo.git('rev-parse', coder.branch).trim(),
      baseBranch: coder.branch,
      workspace: join(path, 'app'),
    },
  });
  expect(planned.directory).toBe(join(path, 'app'));
  await fixture.worktrees.ensure(planned.worktree, null);
  expect(existsSync(join(path, 'work.txt'))).toBe(true);
});

test.each(['squad', 'squad/coder', `squad/coder/${runId(1)}`])('a branch %s is in the way', async branch => {
  fixture.repo.git('branch', branch);
  await expect(fixture.plan()).rejects.toMatchObject({
    code: 'BRANCH_EXISTS',
    message: expect.stringContaining(branch),
  });
});

test('says clearly what cannot have work trees, and what to do', async () => {
  const bare = join(fixture.repo.folder, 'bare.git');
  fixture.repo.git('init', '-q', '--bare', bare);
  fixture.repo.git('init', '-q', '../unborn');
  const unborn = join(fixture.repo.folder, 'unborn');
  for (const [directory, message] of [
    [bare, 'bare'],
    [join(bare, 'refs'), 'bare'],
    [unborn, 'no commits'],
  ] as const)
    await expect(fixture.plan({ directory, workspace: directory })).rejects.toMatchObject({
      code: 'REPOSITORY_UNSUITABLE',
      message: expect.stringContaining(message),
      suggestions: [expect.any(String)],
    });
  const plain = realpathSync(mkdtempSync(join(tmpdir(), 'squad-plain-')));
  const planned = fixture.plan({ directory: plain, workspace: plain });
  await expect(planned.finally(() => rmSync(plain, { recursive: true }))).rejects.toMatchObject({
    code: 'NOT_A_REPOSITORY',
    // Without the argument, the isolation of the role would count again.
    suggestions: [expect.stringMatching(/`isolation: "none"` in the call, `squad run --no-worktree`/)],
  });
});

test('a repository that git cannot read is reported', async () => {
  writeFileSync(fixture.repo.path('.git/HEAD'), 'nonsense\n');
  const { env } = fixture.repo;
  const worktrees = createWorktrees({ folder: fixture.folder, env });
  await expect(worktrees.plan(fixture.ask())).rejects.toMatchObject({ code: 'NOT_A_REPOSITORY' });
  writeFileSync(fixture.repo.path('.git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(fixture.repo.path('.git/index'), 'nonsense');
  await expect(worktrees.plan(fixture.ask())).rejects.toMatchObject({ code: 'GIT_FAILED' });
});
