import { describe, expect, test } from 'vitest';
import { newRunId, newSquadId, type RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { PLAIN_OPTIONS } from '../testing/plain-options.ts';
import { checkoutsOf, chooseCandidates, targetOf } from './candidates.ts';

function run(given: Partial<Run> = {}): Run {
  const id = newRunId();
  const worktree = {
    path: `/trees/${id}`,
    branch: `squad/coder/${id}`,
    repository: '/repo',
    base: 'b',
    baseBranch: 'main',
    workspace: '',
  };
  return {
    ...{
      id,
      squadId: newSquadId(),
      position: 0,
      lineageId: id,
      roleId: 'coder',
      type: null,
      reviewOf: null,
      task: 't',
      title: null,
    },
    ...{
      cwd: '.',
      directory: '/',
      workspace: '/repo',
      worktree,
      engine: 'scripted',
      outputIsEvents: false,
      model: null,
    },
    ...{
      stateMode: 'stateless' as const,
      chatId: null,
      chatIsNew: true,
      parentId: null,
      depth: 0,
      client: null,
      timeoutMs: 1,
    },
    ...{
      keepLeftovers: false,
      options: PLAIN_OPTIONS,
      policy: [],
      tokenHash: null,
      status: 'completed' as const,
      turn: 1,
      error: null,
    },
    ...{ usage: null, notes: [], evidence: null, createdAt: 1, startedAt: 1, endedAt: 2 },
    ...given,
  };
}

const idsOf = (chosen: ReturnType<typeof chooseCandidates>) =>
  chosen.candidates.map(candidate => candidate.run.id);
const named = (...runs: Run[]): Set<RunId> => new Set(runs.map(({ id }) => id));

describe('choice of branches', () => {
  test('completed runs, and others only by name', () => {
    const [done, failed] = [run(), run({ status: 'error' })];
    const chosen = chooseCandidates([done, failed], null);
    expect(idsOf(chosen)).toEqual([done.id]);
    expect(chosen.leftOut).toEqual([{ runId: failed.id, why: 'it ended as error', canBeNamed: true }]);
    expect(idsOf(chooseCandidates([done, failed], named(failed)))).toEqual([failed.id]);
  });

  test('a coder whose reviews ran out without approval only by name', () => {
    const atLimit = run({ error: { code: 'REVIEW_LIMIT_EXCEEDED', message: 'No more reviews' } });
    const chosen = chooseCandidates([atLimit], null);
    expect(idsOf(chosen)).toEqual([]);
    expect(chosen.leftOut).toEqual([
      { runId: atLimit.id, why: expect.stringContaining('did not approve'), canBeNamed: true },
    ]);
    expect(idsOf(chooseCandidates([atLimit], named(atLimit)))).toEqual([atLimit.id]);
  });

  test('never a running run, one whose tree a running reply uses, a reviewer, or one without a tree', () => {
    const first = run();
    const reply = run({ worktree: first.worktree, status: 'running', createdAt: 2 });
    const others = [run({ status: 'waiting_review' }), run({ reviewOf: first.id }), run({ worktree: null })];
    const all = [first, reply, ...others];
    const chosen = chooseCandidates(all, named(...all));
    expect(chosen.candidates).toEqual([]);
    expect(chosen.leftOut.some(({ canBeNamed }) => canBeNamed)).toBe(false);
    expect(chosen.leftOut.map(({ why }) => why)).toEqual([
      'it has not ended',
      'it has not ended',
      expect.stringContaining('is a review of'),
      'it has no work tree of its own',
    ]);
  });

  test('reviewers are not even named as left out, unless they were asked for', () => {
    const coder = run();
    const reviewer = run({ reviewOf: coder.id });
    expect(chooseCandidates([coder, reviewer], null).leftOut).toEqual([]);
    expect(chooseCandidates([coder, reviewer], named(reviewer)).leftOut).toHaveLength(1);
  });

  test('the last of those that shared a tree, by whatever name it was asked for', () => {
    const first = run();
    const reply = run({ worktree: first.worktree, createdAt: 2 });
    expect(idsOf(chooseCandidates([reply, first], null))).toEqual([reply.id]);
    expect(idsOf(chooseCandidates([first, reply], named(first)))).toEqual([reply.id]);
  });
});

test('among several targets or repositories the caller must choose', () => {
  const on = (given: object) => {
    const one = run();
    return { run: one, worktree: { ...one.worktree!, ...given } };
  };
  expect(targetOf([on({}), on({})], undefined)).toBe('main');
  expect(targetOf([on({}), on({ baseBranch: 'next' })], 'next')).toBe('next');
  expect(() => targetOf([on({}), on({ baseBranch: 'next' })], undefined)).toThrow('main, next');
  expect(() => targetOf([on({ baseBranch: null })], undefined)).toThrow('none');
  const both = [on({}), on({ repository: '/other' })];
  expect(() => checkoutsOf(both, ['/repo/.git', '/other/.git'], null)).toThrow('several repositories');
});

test('a repository is one however many checkouts it has; that of the caller counts where it is one of them', () => {
  const one = run();
  const linked = { run: one, worktree: { ...one.worktree!, repository: '/linked' } };
  const both = [{ run: one, worktree: one.worktree! }, linked];
  const names = ['/repo/.git', '/repo/.git'];
  expect(checkoutsOf(both, names, null)).toEqual(['/repo', '/linked']);
  expect(checkoutsOf(both, names, { root: '/linked', repository: '/repo/.git' })).toEqual([
    '/linked',
    '/repo',
  ]);
  expect(checkoutsOf(both, names, { root: '/else', repository: '/else/.git' })).toEqual(['/repo', '/linked']);
});
