import { describe, expect, test } from 'vitest';
import { PriceList, SHIPPED_PRICES, withCost } from './prices.ts';

const tokens = { input: 1_000_000, output: 100_000, cached: 400_000, costUsd: null, costIsEstimated: false };
const prices = {
  small: { input: 2, cached: 0.5, output: 10 },
  'small-pro': { input: 20, cached: 5, output: 100 },
};

describe('cost estimated from tokens', () => {
  test('counts what came from the cache at its own price, and is marked', { tags: ['C8'] }, () => {
    expect(withCost(tokens, 'small', prices)).toEqual({ ...tokens, costUsd: 2.4, costIsEstimated: true });
  });
  test('knows a model by its name with a date or a vendor around it, and no other by a name that begins alike', () => {
    const costOf = (model: string | null) => withCost(tokens, model, prices)?.costUsd;
    expect(['small-2025-08-07', 'openai/small', 'small-latest', 'small-pro'].map(costOf)).toEqual([
      2.4, 2.4, 2.4, 24,
    ]);
    expect(['small-mini', 'smaller', 'other', null].map(costOf)).toEqual([null, null, null, null]);
  });
  test('is that of a listed model for a dated name of it, and of no other of its family', () => {
    const costOf = (model: string) => withCost(tokens, model, SHIPPED_PRICES)?.costUsd ?? null;
    expect(costOf('claude-opus-4-5-20251101')).toBe(costOf('claude-opus-4-5'));
    expect(costOf('claude-opus-4-5')).not.toBeNull();
    expect(costOf('claude-opus-4-20250514')).toBe(costOf('claude-opus-4'));
    expect(costOf('claude-opus-4')).not.toBe(costOf('claude-opus-4-5'));
    expect(costOf('claude-opus-4-99')).toBeNull();
  });
  test('never replaces what the engine reported', () => {
    expect(withCost({ ...tokens, costUsd: 9 }, 'small', prices)).toEqual({ ...tokens, costUsd: 9 });
  });
  test('is that of the input where the output is not counted yet, and none without the input', () => {
    expect(withCost({ ...tokens, output: null }, 'small', prices)).toMatchObject({
      output: null,
      costUsd: 1.4,
      costIsEstimated: true,
    });
    expect(withCost({ ...tokens, input: null }, 'small', prices)?.costUsd).toBeNull();
    expect(withCost(null, 'small', prices)).toBeNull();
  });
});

test('the shipped list is one', () => {
  expect(Object.keys(PriceList.parse(SHIPPED_PRICES)).length).toBeGreaterThan(10);
});
