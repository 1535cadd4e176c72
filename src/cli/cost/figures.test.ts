import { expect, test } from 'vitest';
import { formatCost, formatTokens, formatUsage, tokensOf, totalOf } from './figures.ts';

test.each([
  [0, '0'],
  [950, '950'],
  [4_100, '4.1k'],
  [9_960, '10k'],
  [129_400, '129k'],
  [999_600, '1.0M'],
  [12_340_000, '12.3M'],
])('%i tokens', (tokens, text) => {
  expect(formatTokens(tokens)).toBe(text);
});

test('a small cost is not shown as free', () => {
  expect([0, 0.0042, 0.61, 12].map(usd => formatCost(usd))).toEqual(['$0.00', '$0.0042', '$0.61', '$12.00']);
});

test('unreported figures are unknown, never 0', () => {
  expect(tokensOf(null)).toBeNull();
  expect(
    tokensOf({ input: null, output: null, cached: 5, costUsd: null, costIsEstimated: false }),
  ).toBeNull();
  expect(tokensOf({ input: 10, output: null, cached: null, costUsd: null, costIsEstimated: false })).toBe(10);
  expect(formatUsage(totalOf([null]), totalOf([]))).toEqual([]);
  expect(formatUsage(totalOf([1_000, null]), totalOf([0.5, 0.25]))).toEqual(['≥1.0k tokens', '$0.75']);
});
