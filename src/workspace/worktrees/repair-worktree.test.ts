import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openGit } from '../git/git.ts';
import { Repository } from '../testing/repository.ts';
import { repairNewWorktree } from './ensure-worktree.ts';

let repo: Repository;
beforeEach(() => {
  repo = new Repository();
  repo.write('in/a', 'a\n');
  repo.write('out/b', 'b\n');
  repo.commit('First');
});
afterEach(() => repo.remove());

async function made(): Promise<string> {
  const path = join(repo.folder, 'linked');
  const git = await openGit(repo.root, repo.env);
  await git.run(['worktree', 'add', '--quiet', '-b', 'linked', path, 'HEAD']);
  expect(await repairNewWorktree(git, path)).toBe(repo.path('.git/worktrees/linked'));
  return path;
}

const plainGit = (cwd: string, ...args: string[]) =>
  execFileSync('git', args, { cwd, env: repo.env, encoding: 'utf8' });

test('the link leads to the repository, and every git can work in the work tree and remove it', async () => {
  const path = await made();
  expect(readFileSync(join(path, '.git'), 'utf8')).toBe(`gitdir: ${repo.path('.git/worktrees/linked')}\n`);
  expect(plainGit(path, 'status', '--porcelain', '--branch')).toBe('## linked\n');
  expect(repo.git('worktree', 'list', '--porcelain')).toContain(`worktree ${path}\n`);
  const linked = await openGit(path, repo.env);
  expect(String(await linked.run(['worktree', 'list', '--porcelain']))).toContain(`worktree ${repo.root}\n`);
  await (await openGit(repo.root, repo.env)).run(['worktree', 'remove', path]);
  expect(existsSync(path)).toBe(false);
});

test('a sparse checkout stays one, without what says where the other work tree is', async () => {
  repo.git('sparse-checkout', 'set', 'in');
  repo.git('config', '--worktree', 'core.worktree', repo.root);
  const path = await made();
  expect(existsSync(join(path, 'out'))).toBe(false);
  expect(plainGit(path, 'sparse-checkout', 'list')).toBe('in\n');
  expect(plainGit(path, 'status', '--porcelain')).toBe('');
});
