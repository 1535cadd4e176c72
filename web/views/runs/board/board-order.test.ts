import { describe, expect, test } from 'vitest';
import { sampleCard } from '../../../testing/sample-card.ts';
import { boardOrder, movesBetween, needsOf, unknownNeeds } from './board-order.ts';

describe('the order of the board', () => {
  const cards = [
    sampleCard({ id: 'done', need: 'done', status: 'completed', createdAt: 9 }),
    sampleCard({ id: 'older', createdAt: 1 }),
    sampleCard({ id: 'newer', createdAt: 2 }),
    sampleCard({ id: 'asks', need: 'needs_you', createdAt: 0 }),
    sampleCard({ id: 'waits', need: 'queued', status: 'queued', createdAt: 8 }),
    sampleCard({ id: 'broke', need: 'failed', status: 'error', createdAt: 0 }),
  ];

  test('runs that need somebody come first, the newest first among them', () => {
    expect(boardOrder(cards, [], 50)).toEqual(['asks', 'broke', 'newer', 'older', 'waits', 'done']);
  });

  test('equals have the same order however they came', () => {
    const twins = [sampleCard({ id: 'b' }), sampleCard({ id: 'a' })];
    expect(boardOrder(twins, [], 50)).toEqual(boardOrder(twins.toReversed(), [], 50));
  });

  test('no more than were asked for', () => {
    expect(boardOrder(cards, [], 2)).toEqual(['asks', 'broke']);
  });

  test('a filter for failures also shows old ones, and nothing that was cancelled', () => {
    const old = sampleCard({ id: 'old', need: 'done', status: 'timeout' });
    const cancelled = sampleCard({ id: 'cancelled', need: 'done', status: 'cancelled' });
    expect(boardOrder([...cards, old, cancelled], ['failed'], 50)).toEqual(['broke', 'old']);
  });

  test('a run that has moved on leaves the list of what it was', () => {
    expect(boardOrder(cards, ['running'], 50)).toEqual(['newer', 'older']);
  });
});

describe('number of rows at another place', () => {
  test.each([
    ['the same', 'a b c', 'a b c', 0],
    ['one to the front', 'a b c', 'c a b', 1],
    ['one new', 'a b', 'n a b', 1],
    ['one gone', 'a b c', 'a c', 1],
    ['one new and one moved', 'a b c', 'c n a b', 2],
  ])('%s', (_, shown, wanted, moves) => {
    expect(movesBetween(shown.split(' '), wanted.split(' '))).toBe(moves);
  });
});

test('an address may name needs; words that are none are no filter, and known to be none', () => {
  expect(needsOf('failed,running')).toEqual(['failed', 'running']);
  expect(needsOf('nonsense')).toEqual([]);
  expect(unknownNeeds('failed, nonsense,')).toEqual(['nonsense']);
  expect(needsOf(null)).toEqual([]);
});
