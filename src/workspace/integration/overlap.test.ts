import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Worktree } from '../../schema/worktree.ts';
import { Repository } from '../testing/repository.ts';
import { touchedFiles } from './integration.ts';

let repo: Repository;
afterEach(() => repo.remove());

function begin(): { tree: Worktree; inTree: Repository['git'] } {
  repo = new Repository();
  repo.write('a.txt', 'one\n');
  repo.write('b.txt', 'two\n');
  repo.write('.gitignore', 'ignored\n');
  const base = repo.commit('First');
  const path = join(repo.folder, 'a tree');
  repo.git('worktree', 'add', '-q', '-b', 'squad/coder/run_a', path);
  const tree = {
    path,
    branch: 'squad/coder/run_a',
    repository: repo.root,
    base,
    baseBranch: 'main',
    workspace: path,
  };
  return { tree, inTree: (...args) => repo.git('-C', path, ...args) };
}

const put = (name: string, text = 'new\n') => repo.write(join('..', 'a tree', name), text);

test('committed, uncommitted and untracked files count, ignored ones do not', { tags: ['F6'] }, async () => {
  const { tree, inTree } = begin();
  put('committed file.txt');
  inTree('add', '-A');
  inTree('commit', '-q', '-m', 'Second');
  put('a.txt', 'changed\n');
  put('folder/new.txt');
  put('ignored');
  expect(await touchedFiles(tree, repo.env)).toEqual({
    files: ['a.txt', 'committed file.txt', 'folder/new.txt'],
    why: null,
  });
});

test('a letter of a reviewer to the author does not count, committed or not', async () => {
  const { tree, inTree } = begin();
  put('REVIEW_FEEDBACK.md');
  put('folder/REVIEW_FEEDBACK.md');
  expect((await touchedFiles(tree, repo.env)).files).toEqual(['folder/REVIEW_FEEDBACK.md']);
  inTree('add', '-A');
  inTree('commit', '-q', '-m', 'Feedback');
  expect((await touchedFiles(tree, repo.env)).files).toEqual(['folder/REVIEW_FEEDBACK.md']);
});

test('a renamed file counts by both names, staged or committed', async () => {
  const { tree, inTree } = begin();
  inTree('mv', 'a.txt', 'c.txt');
  inTree('commit', '-q', '-m', 'Renamed');
  inTree('mv', 'b.txt', 'd.txt');
  expect((await touchedFiles(tree, repo.env)).files).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt']);
});

test('commits that a branch merged from its base branch, or does not have yet, do not count as its own', async () => {
  const { tree, inTree } = begin();
  repo.write('of-main.txt', 'new\n');
  repo.commit('Meanwhile');
  put('own.txt');
  inTree('add', '-A');
  inTree('commit', '-q', '-m', 'Own');
  inTree('merge', '-q', '-m', 'Up to date', 'main');
  repo.write('later.txt', 'new\n');
  repo.commit('Later');
  expect((await touchedFiles(tree, repo.env)).files).toEqual(['own.txt']);
});

test('a branch that is merged touches nothing any more', async () => {
  const { tree, inTree } = begin();
  put('own.txt');
  inTree('add', '-A');
  inTree('commit', '-q', '-m', 'Own');
  repo.git('merge', '-q', '--no-ff', '-m', 'In', tree.branch);
  expect((await touchedFiles(tree, repo.env)).files).toEqual([]);
});

test('without its folder a branch still tells what is committed, and without its base branch where it began does', async () => {
  const { tree, inTree } = begin();
  put('own.txt');
  inTree('add', '-A');
  inTree('commit', '-q', '-m', 'Own');
  expect((await touchedFiles({ ...tree, baseBranch: 'gone' }, repo.env)).files).toEqual(['own.txt']);
  rmSync(tree.path, { recursive: true });
  expect((await touchedFiles(tree, repo.env)).files).toEqual(['own.txt']);
  const lost = await touchedFiles({ ...tree, branch: 'squad/coder/gone' }, repo.env);
  expect(lost).toEqual({ files: null, why: expect.stringContaining('squad/coder/gone') });
});
