import { describe, expect, it } from 'vitest';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { ownOf, totalsOf } from './totals.ts';
import { treeOf } from './tree.ts';

describe('totalsOf', () => {
  it('adds up what is below each run, reviewers included', () => {
    const totals = totalsOf(
      treeOf([
        card('run_a', usage(100, 10, 1)),
        card('run_b', usage(200, 20, 2), { parentId: 'run_a' }),
        card('run_c', usage(300, 30, 4), { reviewOf: 'run_b', parentId: 'run_a' }),
      ]),
    );
    expect(totals.get('run_a')).toEqual({ tokens: 660, costUsd: 7, isEstimated: false, unreported: 0 });
    expect(totals.get('run_b')).toMatchObject({ tokens: 550, costUsd: 6 });
    expect(totals.get('run_c')).toMatchObject({ tokens: 330, costUsd: 4 });
  });

  it('says how many did not report instead of taking them for free', () => {
    const totals = totalsOf(
      treeOf([card('run_a', null), card('run_b', usage(1, 1, 3), { parentId: 'run_a' })]),
    );
    expect(totals.get('run_a')).toMatchObject({ costUsd: 3, unreported: 1 });
  });

  it('is unknown where nobody reported, and estimated where any part is', () => {
    const [unknown, estimated] = [
      totalsOf(treeOf([card('run_a', null)])).get('run_a'),
      totalsOf(treeOf([card('run_a', { ...usage(1, 1, 1), costIsEstimated: true })])).get('run_a'),
    ];
    expect(unknown).toEqual({ tokens: null, costUsd: null, isEstimated: false, unreported: 1 });
    expect(estimated?.isEstimated).toBe(true);
  });
});

describe('ownOf', () => {
  it('does not count a run that never started or is still running as unreported', () => {
    expect(ownOf({ usage: null, startedAt: null, endedAt: 1 }).unreported).toBe(0);
    expect(ownOf({ usage: null, startedAt: 1, endedAt: null }).unreported).toBe(0);
  });

  it('counts tokens without money as missing money', () => {
    const own = ownOf({ usage: { ...usage(5, 5, 0), costUsd: null }, startedAt: 1, endedAt: 2 });
    expect(own).toMatchObject({ tokens: 10, costUsd: null, unreported: 1 });
  });
});

const usage = (input: number, output: number, costUsd: number) => ({
  ...{ input, output, cached: null, costUsd },
  costIsEstimated: false,
});

function card(id: string, used: RunCard['usage'], more: Record<string, unknown> = {}): RunCard {
  const base = { id, usage: used, startedAt: 1, endedAt: 2, createdAt: 1, parentId: null, reviewOf: null };
  return { ...base, ...more } as unknown as RunCard;
}
