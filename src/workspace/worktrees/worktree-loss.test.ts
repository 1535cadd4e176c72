import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Worktree } from '../../schema/worktree.ts';
import { runId, WorktreeFixture } from '../testing/worktree-fixture.ts';

let fixture: WorktreeFixture;
beforeEach(() => {
  fixture = new WorktreeFixture();
});
afterEach(() => fixture.remove());

const remove = (worktree: Worktree) => fixture.worktrees.remove(worktree, { dropEmptyBranch: true });
const saved = `refs/squad/saved/${runId(1)}`;

/** As an agent would, with a git of its own. */
function shell(cwd: string, script: string): string {
  const who = ['AUTHOR', 'COMMITTER'].flatMap(role => [
    [`GIT_${role}_NAME`, 'Agent'],
    [`GIT_${role}_EMAIL`, 'agent@example.com'],
  ]);
  const env = { ...fixture.repo.env, ...Object.fromEntries(who), GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('sh', ['-ec', script], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const INNER = 'git init -q inner; cd inner; echo x >f; git add .; git commit -qm x; cd ..';

describe('stays, and says why, when it holds', () => {
  const cases: Record<string, [RegExp, string]> = {
    'a repository that is committed as a link': [
      /another repository, inner:/,
      `${INNER}; git add -A 2>/dev/null; git commit -qm inner`,
    ],
    'a repository that git ignores': [
      /another repository, out\/inner:/,
      `mkdir out; cd out; ${INNER}; cd ..; echo out/ >.gitignore; git add .gitignore; git commit -qm ignore`,
    ],
    'a repository without a commit': [/another repository, inner:/, 'git init -q inner; echo x >inner/f'],
    'a bare repository that git ignores': [
      /another repository, inner.git:/,
      'git init -q --bare inner.git; echo "*.git" >>"$(git rev-parse --git-path info/exclude)"',
    ],
    'a submodule that keeps its repository in its own folder': [
      /another repository, inner:/,
      `${INNER}; printf '[submodule "inner"]\\n\\tpath = inner\\n\\turl = x\\n' >.gitmodules; git add -A 2>/dev/null; git commit -qm sub`,
    ],
    'files where a submodule belongs': [
      /where the submodule lib belongs/,
      'git update-index --add --cacheinfo 160000,"$(git rev-parse HEAD)",lib; git commit -qm lib; mkdir -p lib; echo x >lib/f',
    ],
    'a name that git passes over': [/accept its file git~1:/, 'echo x >git~1'],
    'a link that git passes over': [
      /accept its file \.gitmodules:/,
      'echo x >.gitmodules; git add .gitmodules; git commit -qm x; ln -sf a.txt .gitmodules',
    ],
    'a new .gitignore that ignores itself': [
      /\.gitignore ignores itself and may hide work from git/,
      'echo "*" >app/.gitignore; echo new >app/new.txt',
    ],
    'a pipe that git would wait on': [/\.gitattributes is a pipe/, 'mkfifo app/.gitattributes'],
  };
  test.each(Object.entries(cases))('%s', async (_, [why, script]) => {
    const worktree = await fixture.made();
    shell(worktree.path, script);
    expect(await remove(worktree)).toEqual({ outcome: 'kept', why: expect.stringMatching(why) });
    expect(existsSync(join(worktree.path, 'app/b.txt'))).toBe(true);
  });
});

describe('is kept under a ref:', () => {
  const hidden: Record<string, string> = {
    'a change that assume-unchanged hides': 'git update-index --assume-unchanged a.txt; echo new >a.txt',
    'a change that skip-worktree hides': 'git update-index --skip-worktree a.txt; echo new >a.txt',
    'a change that core.ignoreStat hides':
      'git config core.ignoreStat true; git update-index --really-refresh; git reset -q --hard; echo new >a.txt',
  };
  test.each(Object.entries(hidden))('%s', async (_, script) => {
    const worktree = await fixture.made();
    shell(worktree.path, script);
    expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 1 });
    expect(await remove(worktree)).toMatchObject({ outcome: 'removed', savedRef: saved });
    expect(fixture.repo.git('show', `${saved}:a.txt`)).toBe('new\n');
  });

  const ignored: Record<string, string> = {
    'a file that .git/info/exclude hides since an agent wrote that':
      'echo out/ >>"$(git rev-parse --git-path info/exclude)"; mkdir out; echo new >out/x',
    'a file that core.excludesFile hides since an agent set that':
      'echo out/ >../rules; git config core.excludesFile "$(realpath ../rules)"; mkdir out; echo new >out/x',
  };
  test.each(Object.entries(ignored))('%s', async (_, script) => {
    const worktree = await fixture.made();
    shell(worktree.path, script);
    expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 1 });
    expect(await remove(worktree)).toMatchObject({ outcome: 'removed', savedRef: saved });
    expect(fixture.repo.git('show', `${saved}:out/x`)).toBe('new\n');
  });

  const staged: Record<string, string> = {
    'what was staged and is another in the folder': 'echo new >a.txt; git add a.txt; echo newer >a.txt',
    'what was staged and is gone from the folder': 'echo new >a.txt; git add a.txt; rm a.txt',
  };
  test.each(Object.entries(staged))('%s', async (_, script) => {
    const worktree = await fixture.made();
    shell(worktree.path, script);
    expect(await remove(worktree)).toMatchObject({ outcome: 'removed', savedRef: saved });
    expect(fixture.repo.git('show', `${saved}^2:a.txt`)).toBe('new\n');
    expect(fixture.repo.git('rev-parse', `${saved}^1`).trim()).toBe(worktree.base);
  });

  const commit = 'echo new >new.txt; git add new.txt; git commit -qm New';
  const loose: Record<string, string> = {
    'a commit that was taken back': `${commit}; git reset -q --hard HEAD~1`,
    'a commit beside the branch': `git checkout -q --detach; ${commit}; git checkout -q -`,
    'a commit that only a ref of the work tree has': `${commit}; git update-ref refs/worktree/mine HEAD; git reset -q --hard HEAD~1; rm "$(git rev-parse --git-path logs/HEAD)" "$(git rev-parse --git-path ORIG_HEAD)"`,
    'what an autostash left': `echo new >new.txt; git add new.txt; git stash create >"$(git rev-parse --git-path MERGE_AUTOSTASH)"; git rm -qf new.txt`,
  };
  test.each(Object.entries(loose))('%s', async (_, script) => {
    const worktree = await fixture.made();
    shell(worktree.path, script);
    expect(await remove(worktree)).toEqual({ outcome: 'removed', savedRef: saved, branchIsGone: true });
    expect(fixture.repo.git('show', `${saved}:new.txt`)).toBe('new\n');
    expect(fixture.repo.git('for-each-ref', 'refs/squad/saved').trim().split('\n')).toHaveLength(1);
  });

  test('several commits that were taken back, tied together under one', async () => {
    const worktree = await fixture.made();
    const { path } = worktree;
    const made = ['one', 'two'].map(name => {
      const oid = shell(
        path,
        `echo ${name} >${name}; git add ${name}; git commit -qm ${name}; git rev-parse HEAD`,
      );
      shell(path, 'git reset -q --hard HEAD~1');
      return oid.trim();
    });
    expect(await remove(worktree)).toMatchObject({ savedRef: saved });
    expect(fixture.repo.git('rev-parse', `${saved}^@`).trim().split('\n').sort()).toEqual(made.sort());
  });

  test('both what was not committed and what was taken back', async () => {
    const worktree = await fixture.made();
    shell(worktree.path, `${commit}; git reset -q --hard HEAD~1; echo changed >a.txt`);
    expect(await remove(worktree)).toMatchObject({ savedRef: saved });
    expect(fixture.repo.git('show', `${saved}:a.txt`)).toBe('changed\n');
    expect(fixture.repo.git('show', `${saved}-2:new.txt`)).toBe('new\n');
  });
});

test('files left out of a sparse checkout are no work', async () => {
  const worktree = await fixture.made();
  shell(worktree.path, 'git sparse-checkout set --no-cone app');
  expect(existsSync(join(worktree.path, 'a.txt'))).toBe(false);
  expect(await remove(worktree)).toEqual({ outcome: 'removed', savedRef: null, branchIsGone: true });
});

test('files that git ignored when the work tree was made go with it', async () => {
  const { repo } = fixture;
  repo.write('.gitignore', 'build/\n');
  repo.commit('Ignore');
  repo.append('.git/info/exclude', 'out/\n');
  const worktree = await fixture.made();
  shell(worktree.path, 'mkdir out build; echo x >out/x; echo x >build/x');
  expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 0 });
  expect(await remove(worktree)).toEqual({ outcome: 'removed', savedRef: null, branchIsGone: true });
});

test('a write into a work tree while it is removed is saved, or fails', async () => {
  for (let n = 0; n < 2000; n++) fixture.repo.write(`many/${n % 40}/${n}.txt`, `${n}\n`);
  fixture.repo.commit('Many');
  const worktree = await fixture.made();
  const written: string[] = [];
  const removing = remove(worktree);
  let isOver = false;
  void removing.finally(() => {
    isOver = true;
  });
  for (let n = 0; !isOver; n++) {
    try {
      writeFileSync(join(worktree.path, `new-${n}.txt`), 'x');
      written.push(`new-${n}.txt`);
    } catch {
      break;
    }
    for (let pause = 0; pause < 20; pause++) await turn();
  }
  const removal = await removing;
  expect(removal).toMatchObject({ outcome: 'removed' });
  const names = fixture.repo.git('ls-tree', '--name-only', saved).split('\n');
  expect(written.filter(name => !names.includes(name))).toEqual([]);
  expect(existsSync(dirname(worktree.path))).toBe(true);
}, 60_000);
