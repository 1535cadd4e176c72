import type { LanguageModelUsage } from 'ai';
import { expect, test } from 'vitest';
import { UsageTotal } from './usage-total.ts';

const counted = (input?: number, output?: number, read?: number, written?: number): LanguageModelUsage => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: undefined,
  inputTokenDetails: { noCacheTokens: undefined, cacheReadTokens: read, cacheWriteTokens: written },
  outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
});

test('turns are summed up; a figure that was never reported stays unknown', () => {
  const total = new UsageTotal(null);
  expect(total.figures).toEqual({ input: null, output: null, cached: null, costUsd: null });
  total.add(counted(100, 10, 0));
  total.add(counted(200, 20, 50));
  expect(total.figures).toEqual({ input: 300, output: 30, cached: 50, costUsd: null });
  expect(total.isPartial).toBe(false);
  const silent = new UsageTotal(null);
  silent.add(counted());
  expect(silent.figures).toEqual({ input: null, output: null, cached: null, costUsd: null });
  expect(silent.isPartial).toBe(false);
});

test('a figure that only some turns reported is unknown in the total, in any order', () => {
  const total = new UsageTotal({ input: 10, output: 100, cacheRead: null, cacheWrite: null });
  total.add(counted(100, 10));
  total.add(counted(undefined, 20, 50));
  total.add(counted(300, 30, 60));
  expect(total.figures).toEqual({ input: null, output: 60, cached: null, costUsd: null });
  expect(total.isPartial).toBe(true);
});

test('cost uses the prices of the file, with separate prices for the cache', () => {
  const total = new UsageTotal({ input: 10, output: 100, cacheRead: 1, cacheWrite: null });
  total.add(counted(1_000_000, 10_000, 400_000, 100_000));
  // 500 000 fresh and 100 000 written at 10, 400 000 read at 1, 10 000 out at 100, each for a million.
  expect(total.figures.costUsd).toBeCloseTo(5 + 1 + 0.4 + 1);
});
