import { describe, expect, test } from 'vitest';
import { RunStatus } from '../../schema/run.ts';
import { nextStatus, type RunTransition, squadStatus } from './run-state.ts';

const STEPS: RunTransition[] = [
  ...(['start', 'complete', 'fail', 'time_out', 'cancel', 'lose'] as const),
  ...(['await_review', 'await_children', 'await_limit', 'resume', 'terminate', 'abandon'] as const),
];

describe('the state table', () => {
  test('is exactly this', () => {
    const table = RunStatus.options.flatMap(status =>
      STEPS.flatMap(step => {
        try {
          return [`${status} + ${step} = ${nextStatus(status, step)}`];
        } catch {
          return [];
        }
      }),
    );
    expect(table).toEqual([
      'queued + start = running',
      'queued + fail = error',
      'queued + time_out = timeout',
      'queued + cancel = cancelled',
      'queued + lose = lost',
      'queued + terminate = terminated',
      'queued + abandon = abandoned',
      'running + complete = completed',
      'running + fail = error',
      'running + time_out = timeout',
      'running + cancel = cancelled',
      'running + lose = lost',
      'running + await_review = waiting_review',
      'running + await_children = waiting_children',
      'running + await_limit = waiting_limit',
      'running + terminate = terminated',
      'running + abandon = abandoned',
      'waiting_review + complete = completed',
      'waiting_review + fail = error',
      'waiting_review + cancel = cancelled',
      'waiting_review + lose = lost',
      'waiting_review + resume = queued',
      'waiting_review + terminate = terminated',
      'waiting_review + abandon = abandoned',
      'waiting_children + complete = completed',
      'waiting_children + fail = error',
      'waiting_children + cancel = cancelled',
      'waiting_children + lose = lost',
      'waiting_children + resume = queued',
      'waiting_children + terminate = terminated',
      'waiting_children + abandon = abandoned',
      'waiting_limit + fail = error',
      'waiting_limit + cancel = cancelled',
      'waiting_limit + lose = lost',
      'waiting_limit + resume = queued',
      'waiting_limit + terminate = terminated',
      'waiting_limit + abandon = abandoned',
      'completed + abandon = abandoned',
    ]);
  });

  test('a transition that is not in the table is a bug, and the error names it', () => {
    expect(() => nextStatus('completed', 'cancel')).toThrow('A run that is completed cannot cancel');
  });
});

describe('a squad', () => {
  test.each([
    [['completed', 'running'], 'running'],
    [['error', 'queued'], 'running'],
    [['completed', 'waiting_review'], 'running'],
    [['completed', 'completed'], 'completed'],
    [['completed', 'lost'], 'failed'],
    [['completed', 'needs_you'], 'needs_you'],
    [['needs_you', 'error'], 'failed'],
    [['needs_you', 'running'], 'running'],
    [['cancelled'], 'failed'],
  ] as const)('of %j is %s', (members, status) => {
    expect(squadStatus(members)).toBe(status);
  });
});
