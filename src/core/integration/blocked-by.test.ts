import { describe, expect, test } from 'vitest';
import type { RunId } from '../../schema/ids.ts';
import type { PlannedBranch } from '../../schema/integration.ts';
import { blockedBy, checklistOf, type Facts } from './checklist.ts';

const branch = (given: Partial<PlannedBranch> = {}): PlannedBranch => ({
  ...{
    runId: 'run_a' as RunId,
    name: 'coder',
    summary: 'Do it',
    status: 'completed',
    branch: 'squad/coder/x',
  },
  ...{ outcome: 'merges', commit: 'c', files: 1, conflicts: [], messages: [], hunks: [], commitsWork: false },
  ...{ overlaps: [], isBehind: false },
  ...given,
});
const conflict = branch({ outcome: 'conflict', conflicts: ['a "b".txt'] });
const refused = branch({ runId: 'run_b' as RunId, outcome: 'refused', messages: ['a merge is under way'] });
const check = (outcome: NonNullable<Facts['check']>['outcome'], exitCode: number | null = null) => ({
  ...{ command: ['npm', 'test'], outcome, exitCode, output: '', durationMs: null },
});
const facts = (given: Partial<Facts> = {}): Facts => ({
  ...{ branches: [branch()], check: null, untrustedCheck: null, target: 'main', folder: '/repo' },
  obstacles: [],
  ...given,
});
const blocked = (given: Partial<Facts>) => blockedBy(facts(given));
const marks = (given: Partial<Facts>) =>
  checklistOf(facts(given)).map(({ state, what }) => `${state} ${what}`);

describe('nothing is merged, and the next step is named,', () => {
  test('when every branch conflicts', () => {
    expect(blocked({ branches: [conflict] })).toEqual({
      code: 'MERGE_CONFLICT',
      message: 'run_a conflicts with main in a "b".txt',
      suggestions: [
        `squad reply run_a 'Merge main into your branch and resolve the conflicts in a "b".txt.'`,
      ],
    });
  });

  test('when the work of the only one cannot be committed', () => {
    expect(blocked({ branches: [refused] })).toMatchObject({
      code: 'UNCOMMITTABLE',
      message: expect.stringContaining('run_b: a merge is under way'),
      suggestions: [expect.stringContaining('squad reply run_b')],
    });
  });

  test('when something is in the way', () => {
    expect(blocked({ obstacles: ['n.txt has uncommitted changes'] })).toMatchObject({
      code: 'TARGET_BLOCKED',
      message: 'main cannot be moved: n.txt has uncommitted changes',
      suggestions: [expect.stringMatching(/Commit, stash .* in \/repo, then run `squad integrate`/)],
    });
  });

  test('when the check that is configured is not trusted', () => {
    expect(blocked({ untrustedCheck: '/repo/.squad/squad.json' })).toMatchObject({
      code: 'CHECK_FAILED',
      message: expect.stringContaining('/repo/.squad/squad.json'),
      suggestions: [expect.stringContaining('squad trust'), expect.stringContaining('--no-check')],
    });
  });

  test('when the check says no, to one branch or to several', () => {
    const said = (branches: PlannedBranch[]) => blocked({ branches, check: check('failed', 1) });
    expect(said([branch()])).toMatchObject({
      code: 'CHECK_FAILED',
      suggestions: [expect.stringContaining('output of the check above, then run `squad reply run_a')],
    });
    expect(said([branch(), branch({ runId: 'run_b' as RunId })])?.suggestions[0]).toContain(
      'squad integrate RUN',
    );
  });
});

test('branches that can be merged are merged, whatever else is left out or not run', () => {
  expect(blocked({ branches: [branch(), conflict, refused] })).toBeNull();
  expect(blocked({ branches: [branch({ outcome: 'nothing' })] })).toBeNull();
  for (const outcome of ['passed', 'not_run'] as const) expect(blocked({ check: check(outcome) })).toBeNull();
});

test('each line of the checklist says what is so, not what should be', () => {
  expect(marks({ check: check('passed') })).toEqual([
    ...[
      'ok work is committed',
      'ok merged onto main as it is now',
      'ok no conflicts',
      'ok nothing in the way',
    ],
    'ok check passed',
  ]);
  expect(
    marks({
      branches: [conflict, refused],
      obstacles: ['n.txt has uncommitted changes', 'a merge is under way'],
      check: check('failed', 1),
    }),
  ).toEqual([
    'bad work that cannot be committed: run_b',
    'ok merged onto main as it is now',
    'bad conflicts in 1 branch, left out',
    'bad n.txt has uncommitted changes',
    'bad a merge is under way',
    'bad check failed',
  ]);
  expect(marks({}).at(-1)).toBe('open no check is set');
  expect(marks({ check: check('not_run') }).at(-1)).toBe('open check not run');
  expect(marks({ untrustedCheck: '/f' }).at(-1)).toBe('bad check not trusted');
});
