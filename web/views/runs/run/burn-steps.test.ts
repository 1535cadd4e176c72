import { expect, test } from 'vitest';
import type { Event } from '../../../../src/schema/event.ts';
import { readingsIn, stepsOf } from './burn-steps.ts';

const activity = (seq: number, tokens?: number, costUsd: number | null = null) =>
  ({
    ...{ seq, at: seq * 1_000, runId: 'run_1', squadId: null },
    body: {
      ...{ type: 'run.activity', kind: 'text', text: 'hi' },
      ...(tokens !== undefined && { spent: { tokens, costUsd } }),
    },
  }) as Event;

const span = { measure: 'tokens', from: 0, until: 9_000, total: 50 } as const;

test('activity with usage becomes a curve that starts at zero and ends at the current total', () => {
  const readings = readingsIn([activity(3, 40), activity(1), activity(2, 10, 0.5), activity(3, 40)]);
  expect(readings).toHaveLength(2);
  expect(stepsOf(readings, span)).toEqual([
    { at: 0, amount: 0 },
    { at: 2_000, amount: 10 },
    { at: 3_000, amount: 40 },
    { at: 9_000, amount: 50 },
  ]);
});

test('an unknown or smaller amount adds no step, and without readings there is no curve', () => {
  expect(
    stepsOf(readingsIn([activity(2, 10, null)]), { ...span, measure: 'costUsd', total: 1 }),
  ).toHaveLength(1);
  const falling = readingsIn([activity(2, 30), activity(3, 10), activity(4, 60)]);
  expect(stepsOf(falling, span).map(({ amount }) => amount)).toEqual([0, 30, 50]);
});
