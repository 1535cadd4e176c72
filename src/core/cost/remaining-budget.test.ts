import { expect, test } from 'vitest';
import { newRunId, type RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { budgetFrom, remainingBudget } from './budget.ts';

interface Given {
  parent?: Run;
  budget?: number | null;
  stops?: boolean;
  spent?: number;
  isLive?: boolean;
}

/** Runs that know no more than who started them, what they may spend and what they spent. */
function family() {
  const runs: Run[] = [];
  const add = ({ parent, budget = null, stops = true, spent, isLive = false }: Given = {}): Run => {
    const run = {
      id: newRunId(),
      parentId: parent?.id ?? null,
      options: { budgetUsd: budget, stopAtBudget: stops },
      status: isLive ? 'running' : 'completed',
      usage: spent === undefined ? null : { costUsd: spent },
    } as Run;
    runs.push(run);
    return run;
  };
  const left = (id: RunId) =>
    remainingBudget(id, {
      store: {
        run: async wanted => runs.find(run => run.id === wanted) ?? null,
        runs: async ({ parentId }) => runs.filter(run => run.parentId === parentId),
      },
      spentBy: run => run.usage?.costUsd ?? 0,
    });
  return { add, left };
}

test('without an enforced budget there is no limit', async () => {
  const { add, left } = family();
  const told = add({ budget: 1, stops: false, spent: 5 });
  expect(await left(told.id)).toBeNull();
  expect(await left(add({ parent: told, spent: 3 }).id)).toBeNull();
});

test('the remaining budget is reduced by what the run and all its descendants have spent', async () => {
  const { add, left } = family();
  const lead = add({ budget: 2, spent: 0.25 });
  const child = add({ parent: lead, spent: 0.5 });
  add({ parent: child, spent: 0.125 });
  add({ parent: lead });
  add({ budget: 9, spent: 9 });
  expect(await left(lead.id)).toBe(1.125);
});

test('the budget of a running child is reserved, and released at its end', async () => {
  const { add, left } = family();
  const lead = add({ budget: 2, isLive: true });
  const child = add({ parent: lead, budget: 1.5, spent: 0.25, isLive: true });
  expect(await left(lead.id)).toBe(0.5);
  expect(await left(child.id)).toBe(1.25);
  child.status = 'completed';
  expect(await left(lead.id)).toBe(1.75);
});

test('the least of all budgets above counts', async () => {
  const { add, left } = family();
  const top = add({ budget: 2, spent: 1.5 });
  const lead = add({ parent: top, budget: 1, spent: 0.25 });
  expect(await left(lead.id)).toBe(0.25);
  expect(await left(add({ parent: lead }).id)).toBe(0.25);
});

test('a budget passed on is at most an equal share, and is enforced', () => {
  const parent = newRunId();
  const asked = { budgetUsd: null, stopAtBudget: false };
  expect(budgetFrom(parent, null, 2, asked)).toEqual(asked);
  expect(budgetFrom(parent, 1, 2, asked)).toEqual({ budgetUsd: 0.5, stopAtBudget: true });
  expect(budgetFrom(parent, 1, 1, { ...asked, budgetUsd: 0.25 }).budgetUsd).toBe(0.25);
  expect(budgetFrom(parent, 1, 4, { ...asked, budgetUsd: 100 }).budgetUsd).toBe(0.25);
  expect(() => budgetFrom(parent, 0, 1, asked)).toThrow(expect.objectContaining({ code: 'BUDGET_EXCEEDED' }));
});
