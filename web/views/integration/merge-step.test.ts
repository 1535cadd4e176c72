import { describe, expect, it } from 'vitest';
import type { IntegrationPlan } from '../../../src/schema/integration.ts';
import { mergeStep } from './merge-step.ts';

const CHECK = {
  command: ['npm', 'test'],
  outcome: 'not_run',
  exitCode: null,
  output: '',
  durationMs: null,
} as const;

describe('mergeStep', () => {
  it('says what approving does before it is done', () => {
    const { effect, why, label, check } = mergeStep(plan({}), false);
    expect(label).toBe('Merge 1 branch into main');
    expect(effect).toBe(
      'Moves main from aaaaaaaaaa to bbbbbbbbbb, with 1 branch merged. The files in /repo are updated. Work trees and branches stay. Nothing is pushed.',
    );
    expect([why, check]).toEqual([null, null]);
    expect(mergeStep(plan({}), true).effect).toContain('Their work trees are removed');
  });

  it('asks for the check where there is one that was not run', () => {
    const step = mergeStep(plan({ planId: null, check: { ...CHECK, command: [...CHECK.command] } }), false);
    expect(step.why).toBe('The check has not run on this result yet.');
    expect(step.check).toMatch(/^Runs npm test on the merged result/);
  });

  it('gives the reason where nothing can be merged', () => {
    const blocked = { code: 'MERGE_CONFLICT', message: 'Both changed a.ts', suggestions: [] } as const;
    expect(mergeStep(plan({ planId: null, blocked: { ...blocked, suggestions: [] } }), false).why).toBe(
      'Both changed a.ts',
    );
    expect(mergeStep(plan({ planId: null, branches: [] }), false).why).toBe(
      'There is nothing left to merge.',
    );
  });

  it('tells what is left out and what is committed first', () => {
    const branches = [branch('merges', { commitsWork: true }), branch('conflict')];
    expect(mergeStep(plan({ branches }), false).effect).toMatch(
      /Uncommitted work of . of these branches is committed first.*1 is left out/,
    );
  });
});

function branch(outcome: string, more: object = {}) {
  return { outcome, commitsWork: false, ...more } as unknown as IntegrationPlan['branches'][number];
}

function plan(more: Partial<IntegrationPlan>): IntegrationPlan {
  return {
    ...{ planId: 'plan_1', repository: '/repo', target: 'main', folder: '/repo' },
    ...{ from: 'a'.repeat(40), to: 'b'.repeat(40), branches: [branch('merges')], leftOut: [] },
    ...{ check: null, checklist: [], warnings: [], blocked: null },
    ...more,
  };
}
