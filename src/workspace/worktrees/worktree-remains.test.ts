import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { savedRefOf } from '../../schema/worktree.ts';
import { WorktreeFixture } from '../testing/worktree-fixture.ts';

let fixture: WorktreeFixture;
beforeEach(() => {
  fixture = new WorktreeFixture();
});
afterEach(() => fixture.remove());

test('of a work tree that is there, everything is', async () => {
  const worktree = await fixture.made();
  expect(await fixture.worktrees.remains(worktree)).toEqual({
    ...{ isThere: true, tip: worktree.base, saved: [] },
  });
});

test('of one that was removed, its branch is and what was saved from it, the newest last', async () => {
  const worktree = await fixture.made();
  for (const text of ['first', 'second']) {
    await fixture.worktrees.ensure(worktree, null);
    writeFileSync(join(worktree.path, 'new.txt'), text);
    await fixture.worktrees.remove(worktree, { dropEmptyBranch: false });
  }
  const ref = savedRefOf(worktree);
  expect(await fixture.worktrees.remains(worktree)).toEqual({
    ...{ isThere: false, tip: worktree.base, saved: [ref, `${ref}-2`] },
  });
});

test('a branch that is gone can be put back, but never in place of one that is there', async () => {
  const worktree = await fixture.made();
  rmSync(worktree.path, { recursive: true });
  fixture.repo.git('worktree', 'prune');
  fixture.repo.git('branch', '-D', worktree.branch);
  expect(await fixture.worktrees.remains(worktree)).toEqual({ isThere: false, tip: null, saved: [] });
  expect(await fixture.worktrees.restoreBranch(worktree, 'f'.repeat(40))).toBe(false);
  expect(await fixture.worktrees.restoreBranch(worktree, worktree.base)).toBe(true);
  expect(await fixture.worktrees.remains(worktree)).toMatchObject({ tip: worktree.base });
  await expect(fixture.worktrees.restoreBranch(worktree, worktree.base)).rejects.toMatchObject({
    code: 'GIT_FAILED',
  });
});
