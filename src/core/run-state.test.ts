import { describe, expect, test } from 'vitest';
import { RunStatus } from '../schema/run.ts';
import { nextStatus, type RunStep, squadStatus } from './run-state.ts';

const STEPS: RunStep[] = ['start', 'complete', 'fail', 'time_out', 'cancel', 'lose'];

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
      'queued + cancel = cancelled',
      'queued + lose = lost',
      'running + complete = completed',
      'running + fail = error',
      'running + time_out = timeout',
      'running + cancel = cancelled',
      'running + lose = lost',
    ]);
  });

  test('a step that is not in it is a bug, and says which', () => {
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
    [['cancelled'], 'failed'],
  ] as const)('of %j is %s', (members, status) => {
    expect(squadStatus(members)).toBe(status);
  });
});
