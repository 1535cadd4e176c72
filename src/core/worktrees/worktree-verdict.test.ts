import { expect, test } from 'vitest';
import type { RunId } from '../../schema/ids.ts';
import type { RunStatus } from '../../schema/run.ts';
import type { WorktreeState } from '../ports/worktrees.ts';
import { judgeWorktree } from './removal.ts';

const worktree = {
  path: '/w/r/run_1',
  branch: 'squad/coder/run_1',
  repository: '/r',
  base: 'abc',
  baseBranch: 'main',
  workspace: '/w/r/run_1',
};
const clean: WorktreeState = {
  ...{ folder: 'there', tip: 'abc', ahead: 0, isMerged: true, uncommitted: 0 },
  ...{ processes: [], held: null, large: null, error: null },
};
const judge = (
  state: Partial<WorktreeState>,
  more: { status?: RunStatus; isNamed?: boolean; saveLarge?: boolean; baseBranch?: null } = {},
) =>
  judgeWorktree({
    worktree: { ...worktree, ...(more.baseBranch === null && { baseBranch: null }) },
    runs: [
      { id: 'run_1' as RunId, status: 'completed' },
      { id: 'run_2' as RunId, status: more.status ?? 'error' },
    ],
    state: { ...clean, ...state },
    isNamed: more.isNamed ?? false,
    saveLarge: more.saveLarge,
  });

test('a work tree without unmerged work is removed', () => {
  expect(judge({})).toEqual({ prune: 'remove', why: 'it has no changes' });
  expect(judge({ ahead: 3 })).toEqual({ prune: 'remove', why: 'all its commits are in main' });
  expect(judge({ folder: 'missing', ahead: 3, isMerged: false, uncommitted: null }).prune).toBe('remove');
});

test('a work tree with unmerged work stays until it is named', () => {
  const work: Partial<WorktreeState>[] = [
    { ahead: 1, isMerged: false },
    { ahead: 2, isMerged: null },
    { uncommitted: 2 },
    { ahead: 3, uncommitted: 1 },
    { uncommitted: null, error: 'git failed' },
    { tip: null, ahead: null, isMerged: null },
  ];
  for (const state of work) {
    expect(judge(state).prune).toBe('keep');
    expect(judge(state, { isNamed: true }).prune).toBe('remove');
  }
  expect(judge({ ahead: 1, isMerged: false }).why).toMatch(
    /^1 commit that is not in main: squad integrate run_1 merges it, .*prune run_1/,
  );
  expect(judge({ ahead: 2, isMerged: null }, { baseBranch: null }).why).toMatch(/^2 commits: /);
  expect(judge({ uncommitted: 2 }).why).toMatch(/^2 files not committed/);
});

test('large files keep it until the user agrees to copy them', () => {
  const state = { uncommitted: 1, large: 'it is too much' };
  expect(judge(state, { isNamed: true })).toEqual({ prune: 'keep', why: 'it is too much' });
  expect(judge(state, { isNamed: true, saveLarge: true }).prune).toBe('remove');
});

test('a work tree in use stays even when it is named', () => {
  const named = { isNamed: true };
  expect(judge({}, { ...named, status: 'running' })).toEqual({
    prune: 'keep',
    why: 'run_2 is running in it',
  });
  expect(judge({}, { ...named, status: 'waiting_review' }).why).toBe('run_2 waits for its review');
  expect(judge({ folder: 'missing' }, { ...named, status: 'queued' }).why).toBe('run_2 waits to start in it');
  expect(judge({ processes: [{ pid: 7, command: 'vim' }] }, named).why).toBe(
    'a process is running in it: vim (7)',
  );
  expect(judge({ folder: 'foreign', error: 'a link is there' }, named).why).toBe('a link is there');
});

test('a work tree that cannot be removed yet says why, not how to remove it', () => {
  const held = 'it is locked: git worktree unlock /w/r/run_1, then try again';
  for (const isNamed of [true, false])
    expect(judge({ held, uncommitted: 2 }, { isNamed })).toEqual({ prune: 'keep', why: held });
});
