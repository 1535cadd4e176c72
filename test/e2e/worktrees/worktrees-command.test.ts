import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ListedWorktree } from '../../../src/operations/worktrees/worktrees.ts';
import { GitSquad, script } from '../../support/git-squad.ts';

const squad = new GitSquad({ coder: '---\nisolation: worktree\n---\nYou code.' });
beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

interface Pruned {
  worktrees: {
    path: string;
    runIds: string[];
    removed: boolean;
    why: string;
    savedRef: string | null;
    branchIsGone: boolean;
  }[];
}

async function done(...lines: string[]): Promise<string> {
  const { runIds } = await squad.json<{ runIds: [string] }>([
    'run',
    '-d',
    'coder',
    `Do it.${script(...lines)}`,
  ]);
  await squad.run(['wait', runIds[0]]);
  return runIds[0];
}
const listed = async (id: string) => {
  const { worktrees } = await squad.json<{ worktrees: ListedWorktree[] }>(['worktrees', '--disk']);
  return worktrees.find(({ runs }) => runs.some(run => run.id === id));
};
const commit = ['run git add -A', 'run git -c user.name=A -c user.email=a@b commit -qm Work'];

test('only what nobody can miss goes by itself, and each is explained', async () => {
  const idle = await done('say hello');
  const ahead = await done('write one.txt', '| 1', ...commit);
  const dirty = await done('write two.txt', '| 2');
  const merged = await done('write three.txt', '| 3', ...commit);
  squad.git('merge', '-q', '--no-ff', '-m', 'Merge', `squad/coder/${merged}`);

  expect(await listed(idle)).toMatchObject({
    prune: 'remove',
    ahead: 0,
    folder: 'there',
    bytes: expect.any(Number),
  });
  expect(await listed(ahead)).toMatchObject({ prune: 'keep', ahead: 1, isMerged: false, uncommitted: 0 });
  expect(await listed(dirty)).toMatchObject({ prune: 'keep', uncommitted: 1 });
  expect(await listed(merged)).toMatchObject({
    prune: 'remove',
    isMerged: true,
    why: 'all its commits are in main',
  });

  const hide = 'echo "*.secret" >>"$(git rev-parse --git-path info/exclude)"';
  const hidden = await done(`run ${hide} && echo x >own.secret`);
  expect(await listed(hidden)).toMatchObject({ prune: 'keep', uncommitted: 1 });

  const { stdout } = await squad.run(['worktrees']);
  const words = stdout.replace(/\s+/g, ' ');
  expect(words).toContain(`1 commit that is not in main: squad integrate ${ahead} merges it,`);
  expect(words).toContain(`1 file not committed: squad diff ${dirty} shows it,`);
  expect(stdout).toContain(`branch squad/coder/${ahead}\n`);
  const removed = async (...args: string[]) => {
    const { worktrees } = await squad.json<Pruned>(['worktrees', 'prune', ...args]);
    return worktrees
      .filter(each => each.removed)
      .flatMap(({ runIds }) => runIds)
      .toSorted();
  };
  expect(await removed('--dry-run')).toEqual([idle, merged].toSorted());
  expect(await removed()).toEqual([idle, merged].toSorted());
  expect(await removed()).toEqual([]);
  expect(await listed(idle)).toBeUndefined();
  expect(squad.git('branch', '--list', `squad/coder/${idle}`)).toBe('');
  expect(squad.git('branch', '--list', `squad/coder/${merged}`)).toContain(merged);

  const { worktrees } = await squad.json<Pruned>(['worktrees', 'prune', ahead, dirty]);
  expect(worktrees.map(each => [each.removed, each.savedRef, each.branchIsGone]).toSorted()).toEqual([
    [true, null, false],
    [true, `refs/squad/saved/${dirty}`, true],
  ]);
  expect(squad.git('show', `refs/squad/saved/${dirty}:two.txt`)).toBe('2');
  expect(squad.git('show', `squad/coder/${ahead}:one.txt`)).toBe('1');
});

test('a work tree in use stays although it is named, and that is a failure', async () => {
  const id = await done('say hello');
  const { path } = (await listed(id))!;
  squad.git('worktree', 'lock', '--reason', 'looking at it', path);
  const { code, stdout } = await squad.run(['worktrees', 'prune', id]);
  expect(code).toBe(1);
  expect(stdout.replace(/\s+/g, ' ')).toContain(`it is locked (looking at it): git worktree unlock ${path}`);
  expect(await listed(id)).toMatchObject({
    prune: 'keep',
    why: expect.stringContaining('git worktree unlock'),
  });
  squad.git('worktree', 'unlock', path);
  expect((await squad.run(['worktrees', 'prune', id])).code).toBe(0);
  expect(existsSync(path)).toBe(false);
});

test('a work tree with a repository in it says what to do about that, not how to remove it', async () => {
  const id = await done('say hello');
  const { path } = (await listed(id))!;
  squad.gitIn(path, 'init', '-q', 'inner');
  squad.gitIn(join(path, 'inner'), 'commit', '-q', '--allow-empty', '-m', 'x');
  const why = expect.stringMatching(/contains another repository, inner\/: move that elsewhere/);
  expect(await listed(id)).toMatchObject({ prune: 'keep', why });
  expect((await squad.run(['worktrees', 'prune', id])).code).toBe(1);
  rmSync(join(path, 'inner'), { recursive: true });
  expect((await squad.run(['worktrees', 'prune', id])).code).toBe(0);
});

test('files that Squad itself keeps up to date are not uncommitted work', async () => {
  squad.write('.squad/IAC.md', '# log\n');
  squad.write('.squad/CONTEXT.md', '# context\n');
  const start = () => squad.run(['run', '-d', 'coder', 'Say hello.']);
  expect((await start()).stderr).not.toContain('not committed');
  const id = await done('write .squad/IAC.md', '| log');
  expect(await listed(id)).toMatchObject({ uncommitted: 0, prune: 'remove' });
  squad.write('mine.txt', 'x');
  const { stderr } = await start();
  expect(stderr.replace(/\s+/g, ' ')).toContain('1 file has changes that are not committed');
  rmSync(join(squad.workspace, 'mine.txt'));
});

test('a work tree that was deleted by hand is listed as missing, and prune removes it from git', async () => {
  const id = await done('write one.txt', '| 1', ...commit);
  const { path } = (await listed(id))!;
  rmSync(path, { recursive: true });
  expect(await listed(id)).toMatchObject({ folder: 'missing', prune: 'remove' });
  await squad.json(['worktrees', 'prune']);
  expect(await listed(id)).toBeUndefined();
  expect(squad.git('worktree', 'list')).not.toContain(id);
  expect(squad.git('branch', '--list', `squad/coder/${id}`)).toContain(id);
});

test('folders that belong to nobody are named', async () => {
  const id = await done('say hello');
  const stray = join((await listed(id))!.path, '../run_nobody');
  mkdirSync(stray);
  writeFileSync(join(stray, 'x'), '');
  expect(await squad.json(['worktrees'])).toMatchObject({ strays: [stray] });
  await squad.json(['worktrees', 'prune']);
  expect(existsSync(stray)).toBe(true);
});

test('a run that is forgotten takes its work tree along, unless that has to stay', async () => {
  const [gone, kept] = [await done('write one.txt', '| 1', ...commit), await done('say hello')];
  const [{ path }, other] = [(await listed(gone))!, (await listed(kept))!];
  squad.git('worktree', 'lock', other.path);
  expect(await squad.json(['prune', '--days', '0'])).toMatchObject({ kept: 1 });
  expect(existsSync(path)).toBe(false);
  expect(squad.git('branch', '--list', `squad/coder/${gone}`)).toContain(gone);
  expect(await listed(kept)).toMatchObject({ path: other.path, folder: 'there' });
});

test('saved changes of forgotten runs are printed', async () => {
  const id = await done('write left.txt', '| left');
  const ref = `refs/squad/saved/${id}`;
  const { stdout } = await squad.run(['prune', '--days', '0']);
  expect(stdout).toContain(
    `Uncommitted changes of their work trees are saved as:\n  ${ref} in ${squad.workspace}`,
  );
  expect(squad.git('show', `${ref}:left.txt`)).toBe('left');
  expect(await squad.json(['prune', '--days', '0'])).toMatchObject({ saved: [] });
});

test('a run without one cannot be named', async () => {
  squad.role('plain', 'You help.');
  const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'plain', 'Say hello.']);
  await squad.run(['wait', runIds[0]]);
  const { code, stderr } = await squad.run(['worktrees', 'prune', runIds[0]]);
  expect(code).toBe(2);
  expect(stderr).toContain('has no work tree of its own');
});
