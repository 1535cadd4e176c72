import { describe, expect, test } from 'vitest';
import { dropUnseenTotals, NOTHING_USED, sinceLastTurn, totalsAfter } from './usage.ts';

const usage = (input: number | null, costUsd: number | null = null) => ({
  input,
  output: 5,
  cached: null,
  costUsd,
  costIsEstimated: false,
});

describe('usage of an engine that counts from the beginning of the chat', () => {
  test('is what this turn added', () => {
    expect(sinceLastTurn(usage(120, 0.5), ['input', 'costUsd'], usage(100, 0.2))).toEqual(usage(20, 0.3));
  });
  test('is all of it in the first turn', () => {
    expect(sinceLastTurn(usage(120), ['input'], NOTHING_USED)).toEqual(usage(120));
  });
  test('is not known where nobody knows what the chat had used before', () => {
    expect(sinceLastTurn(usage(120, 0.5), ['input'], null)).toEqual(usage(null, 0.5));
    expect(sinceLastTurn(usage(120, 0.5), ['input', 'costUsd'], usage(null, 0.2))).toEqual(usage(null, 0.3));
    expect(dropUnseenTotals(usage(120), ['input', 'costUsd'], null)).toEqual(['input']);
    expect(dropUnseenTotals(usage(120), ['input'], usage(0))).toEqual([]);
  });
  test('stays unknown where nothing was reported', () => {
    expect(sinceLastTurn(usage(null), ['input'], usage(100)).input).toBeNull();
  });
  test('is taken as it is when the count began anew', () => {
    expect(sinceLastTurn(usage(30), ['input'], usage(100)).input).toBe(30);
  });
});

test('the totals of a chat hold only what is counted like that', () => {
  expect(totalsAfter(usage(120, 0.5), ['costUsd'], null)).toEqual({
    input: null,
    output: null,
    cached: null,
    costUsd: 0.5,
    costIsEstimated: false,
  });
  expect(totalsAfter(usage(120), [], null)).toBeNull();
  // A turn that was stopped said only what it used itself.
  expect(totalsAfter(usage(20), [], usage(100))).toEqual({ ...usage(120), output: 10 });
});
