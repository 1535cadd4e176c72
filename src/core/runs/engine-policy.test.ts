import { expect, test } from 'vitest';
import type { RunOptions } from '../../schema/run.ts';
import type { Engine } from '../ports/engine.ts';
import { policyFor } from './engine-policy.ts';

const options = { budgetUsd: 2, stopAtBudget: true } as RunOptions;
const engine = (usageIsReported: Engine['usageIsReported'], rules: ReturnType<Engine['policy']> = []) =>
  ({ usageIsReported, policy: () => rules }) as unknown as Engine;

test('a budget is held by Squad where usage is reported live, and is advice elsewhere, with the reason', {
  tags: ['C8'],
}, () => {
  expect(policyFor(engine('live'), options)).toEqual([
    { rule: 'budget: 2 USD', heldBy: 'system', note: null },
  ]);
  expect(policyFor(engine('at_end'), options)).toMatchObject([
    { heldBy: 'advisory', note: expect.stringContaining('after the turn') },
  ]);
  expect(policyFor(engine('never'), options)).toMatchObject([
    { heldBy: 'advisory', note: expect.stringContaining('cannot be checked') },
  ]);
});

test('a budget that only warns is advice', () => {
  expect(policyFor(engine('live'), { ...options, stopAtBudget: false })).toMatchObject([
    { heldBy: 'advisory' },
  ]);
});

test('a budget that the engine enforces is listed once, and no budget is not listed', () => {
  const own = { rule: 'budget: 2 USD', heldBy: 'engine' as const, note: null };
  expect(policyFor(engine('live', [own]), options)).toEqual([own]);
  expect(policyFor(engine('live'), { ...options, budgetUsd: null })).toEqual([]);
});

test('that an engine asks for what it may not do is its own word; of the others it is said that they do not', () => {
  const asks = { approvals: 'ask', budgetUsd: null } as RunOptions;
  const own = { rule: 'approvals: ask', heldBy: 'engine' as const, note: null };
  expect(policyFor(engine('live', [own]), asks)).toEqual([own]);
  expect(policyFor(engine('live'), asks)).toEqual([
    { rule: 'approvals: ask', heldBy: 'advisory', note: expect.stringContaining('refused') },
  ]);
  expect(policyFor(engine('live'), { ...asks, approvals: 'deny' })).toEqual([]);
});
