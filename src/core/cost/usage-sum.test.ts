import { describe, expect, it } from 'vitest';
import type { Usage } from '../../schema/run.ts';
import { isUnreported, usageTogether } from './usage.ts';

const usage = (some: Partial<Usage>): Usage => ({
  ...{ input: null, output: null, cached: null, costUsd: null, costIsEstimated: false },
  ...some,
});

describe('total usage of several runs', () => {
  it('is unknown, not 0, where none was reported', () => {
    expect(usageTogether([])).toBeNull();
    expect(usageTogether([null, null])).toBeNull();
    expect(usageTogether([usage({ input: 3 }), null])).toEqual(usage({ input: 3 }));
  });

  it('is the sum of what is known, figure by figure', () => {
    expect(
      usageTogether([
        usage({ input: 1, costUsd: 0.1 }),
        usage({ input: 2, output: 0, costUsd: 0.2, costIsEstimated: true }),
      ]),
    ).toEqual(usage({ input: 3, output: 0, costUsd: 0.3, costIsEstimated: true }));
  });

  it('counts ended runs that reported no cost', () => {
    const over = { status: 'completed', startedAt: 1 } as const;
    expect(isUnreported(over, null)).toBe(true);
    expect(isUnreported(over, usage({ input: 5 }))).toBe(true);
    expect(isUnreported(over, usage({ costUsd: 0 }))).toBe(false);
    // Nothing was used, and nothing can be known yet.
    expect(isUnreported({ status: 'cancelled', startedAt: null }, null)).toBe(false);
    expect(isUnreported({ status: 'running', startedAt: 1 }, null)).toBe(false);
  });
});
