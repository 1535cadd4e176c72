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

test('turns add up; what nobody counted stays unknown', () => {
  const total = new UsageTotal(null);
  total.add(counted(100, 10));
  total.add(counted(200, 20, 50));
  expect(total).toMatchObject({ input: 300, output: 30, cached: 50, costUsd: null });
  const silent = new UsageTotal(null);
  silent.add(counted());
  expect(silent).toMatchObject({ input: null, output: null, cached: null, costUsd: null });
});

test('money comes from the prices of the file, the cache at its own', () => {
  const total = new UsageTotal({ input: 10, output: 100, cacheRead: 1, cacheWrite: null });
  total.add(counted(1_000_000, 10_000, 400_000, 100_000));
  // 500 000 fresh and 100 000 written at 10, 400 000 read at 1, 10 000 out at 100, each for a million.
  expect(total.costUsd).toBeCloseTo(5 + 1 + 0.4 + 1);
  total.add(counted(undefined, 5));
  expect(total.costUsd).toBeCloseTo(7.4);
});
