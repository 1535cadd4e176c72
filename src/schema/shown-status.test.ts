import { describe, expect, test } from 'vitest';
import type { RunCard } from './run-card.ts';
import { columnOf, columnOfSquad } from './shown-status.ts';

type Placed = Parameters<typeof columnOf>[0];
const card = (given: Partial<Placed> = {}): Placed => ({
  ...{ need: 'running', status: 'running', reviewOf: null, branchState: null, endedAt: null },
  ...given,
});
const ended = (given: Partial<Placed> = {}) =>
  card({ need: 'done', status: 'completed', endedAt: 1, ...given });

describe('the column of a run', () => {
  test.each([
    ['working', card()],
    ['working', card({ need: 'queued', status: 'queued' })],
    ['needs_you', card({ need: 'needs_you' })],
    ['needs_you', ended({ need: 'failed', status: 'error' })],
    ['needs_you', ended({ need: 'needs_you' })],
    ['in_review', card({ status: 'waiting_review' })],
    ['ready', ended({ branchState: 'ready' })],
    ['merged', ended({ branchState: 'merged' })],
    ['done', ended()],
    ['done', ended({ status: 'timeout' })],
  ])('%s', (column, placed) => {
    expect(columnOf(placed)).toBe(column);
  });

  test('a reviewer has none, unless it needs somebody', () => {
    const reviewOf = 'run_a' as RunCard['reviewOf'];
    expect(columnOf(card({ reviewOf }))).toBeNull();
    expect(columnOf(card({ reviewOf, need: 'needs_you' }))).toBe('needs_you');
  });
});

test('a squad is where its most urgent member is', () => {
  expect(columnOfSquad([ended(), ended({ branchState: 'ready' })])).toBe('ready');
  expect(columnOfSquad([ended({ branchState: 'ready' }), card()])).toBe('working');
  expect(columnOfSquad([card(), ended({ need: 'failed', status: 'error' })])).toBe('needs_you');
});
