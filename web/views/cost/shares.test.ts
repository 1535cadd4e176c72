import { describe, expect, it } from 'vitest';
import { amountOf, describeUnreported, sharesOf, standing } from './shares.ts';

describe('sharesOf', () => {
  it('measures bars against the dearest, or the budget where that is more', () => {
    expect(sharesOf([1, 4, null], null)).toEqual({ bars: [0.25, 1, null], line: null });
    expect(sharesOf([1, 4], 8)).toEqual({ bars: [0.125, 0.5], line: 1 });
    expect(sharesOf([1, 4], 2)).toEqual({ bars: [0.25, 1], line: 0.5 });
  });

  it('draws nothing where nothing was reported, and keeps unknown apart from free', () => {
    expect(sharesOf([null, 0], null)).toEqual({ bars: [null, 0], line: null });
    expect(sharesOf([], null)).toEqual({ bars: [], line: null });
  });
});

describe('amountOf', () => {
  it('is unknown, not 0, where nothing was reported', () => {
    const day = { costUsd: null, inputTokens: null, outputTokens: null };
    expect(amountOf({ ...day, costUsd: 2 }, 'cost')).toBe(2);
    expect(amountOf(day, 'tokens')).toBeNull();
    expect(amountOf({ ...day, inputTokens: 5 }, 'tokens')).toBe(5);
    expect(amountOf({ ...day, inputTokens: 5, outputTokens: 2 }, 'tokens')).toBe(7);
  });
});

describe('standing', () => {
  it('says how near the budget is', () => {
    expect(standing(1, null)).toEqual({ state: 'none', share: null });
    expect(standing(1, 4)).toEqual({ state: 'under', share: 0.25 });
    expect(standing(3.5, 4).state).toBe('near');
    expect(standing(4, 4).state).toBe('over');
    expect(standing(null, 4)).toEqual({ state: 'under', share: 0 });
  });
});

describe('describeUnreported', () => {
  it('says how much of a sum is missing', () => {
    expect(describeUnreported(0, 3)).toBe('');
    expect(describeUnreported(1, 3)).toBe('1 of 3 unknown');
    expect(describeUnreported(3, 3)).toBe('all unknown');
    expect(describeUnreported(1, 1)).toBe('unknown');
  });
});
