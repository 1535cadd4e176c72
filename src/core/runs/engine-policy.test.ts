import { describe, expect, test } from 'vitest';
import type { RunOptions } from '../../schema/run.ts';
import { NO_SANDBOX } from '../../schema/sandbox.ts';
import type { Engine } from '../ports/engine.ts';
import { policyFor } from './engine-policy.ts';

const options = { budgetUsd: 2, stopAtBudget: true, sandbox: NO_SANDBOX } as RunOptions;
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

test('an engine that asks holds the rule itself; for other engines the rule is advisory', () => {
  const asks = { approvals: 'ask', budgetUsd: null, sandbox: NO_SANDBOX } as RunOptions;
  const own = { rule: 'approvals: ask', heldBy: 'engine' as const, note: null };
  expect(policyFor(engine('live', [own]), asks)).toEqual([own]);
  expect(policyFor(engine('live'), asks)).toEqual([
    { rule: 'approvals: ask', heldBy: 'advisory', note: expect.stringContaining('refused') },
  ]);
  expect(policyFor(engine('live'), { ...asks, approvals: 'deny' })).toEqual([]);
});

describe('in a sandbox', { tags: ['I1', 'I2'] }, () => {
  const inside = (more: Partial<RunOptions>) =>
    ({ permission: 'edit', budgetUsd: null, sandbox: NO_SANDBOX, ...more }) as RunOptions;
  const advice = {
    rule: 'permission: edit',
    heldBy: 'advisory' as const,
    note: 'a command can write anywhere',
  };
  const holders = (rules: ReturnType<typeof policyFor>) =>
    Object.fromEntries(rules.map(({ rule, heldBy }) => [rule, heldBy]));

  test('the system holds files, processes, git and the network, also where the engine only advises', () => {
    const sandbox = { level: 'strict' as const, network: 'models' as const, hosts: ['a.example'], read: [] };
    const rules = policyFor(engine('live', [advice]), inside({ sandbox }));
    expect(holders(rules)).toEqual({
      'permission: edit': 'system',
      'sandbox: strict': 'system',
      'processes: its own': 'system',
      'git: its own branch': 'system',
      'network: models': 'system',
    });
    expect(rules.at(-1)!.note).toContain('a.example');
    expect(policyFor(engine('live', [advice]), inside({}))).toEqual([advice]);
  });

  test('an unlimited network is no rule, and a tool list stays as the engine holds it', () => {
    const sandbox = { ...NO_SANDBOX, level: 'workspace' as const };
    const tools = { rule: 'tools: Read', heldBy: 'engine' as const, note: null };
    const rules = holders(policyFor(engine('live', [tools]), inside({ sandbox })));
    expect(rules).toMatchObject({ 'tools: Read': 'engine' });
    expect(Object.keys(rules).join()).not.toContain('network');
  });
});
