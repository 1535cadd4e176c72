import { describe, expect, test } from 'vitest';
import { sinceLastTurn, totalsAfter } from './usage.ts';

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
    expect(sinceLastTurn(usage(120), ['input'], null)).toEqual(usage(120));
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
  expect(totalsAfter(usage(120), [], usage(7))).toEqual(usage(7));
});
