import { describe, expect, test } from 'vitest';
import { HubSettings } from '../schema/config.ts';
import { overBudget, refuseOverDay, review, runBudget, startOfDay } from './budget.ts';

const settings = (some: Record<string, number> = {}) => HubSettings.parse(some);
const spent = (spentUsd: number) => ({ spentUsd, budgetUsd: 1, scope: 'run' as const });

describe('what was spent', () => {
  test('is worth a word from 80 % on, and an end at 100 %', () => {
    expect(review([spent(0.79)])).toEqual({ warn: [], over: null });
    expect(review([spent(0.8)])).toEqual({ warn: [spent(0.8)], over: null });
    expect(review([spent(1)])).toEqual({ warn: [spent(1)], over: spent(1) });
  });
  test('is told with the limit, its value and how to raise it', () => {
    expect(overBudget({ spentUsd: 1.204, budgetUsd: 1, scope: 'squad' })).toMatch(
      /\$1\.20 of a budget of \$1\.00.*budget\.squad_usd/,
    );
  });
});

test('a run has the narrower of what was asked for and what every run may spend', () => {
  expect(runBudget(2, settings())).toBe(2);
  expect(runBudget(null, settings({ 'budget.run_usd': 1 }))).toBe(1);
  expect(runBudget(2, settings({ 'budget.run_usd': 1 }))).toBe(1);
  expect(runBudget(0.5, settings({ 'budget.run_usd': 1 }))).toBe(0.5);
  expect(runBudget(null, settings())).toBeNull();
});

test("nothing is started when the day's money is gone", () => {
  refuseOverDay(5, settings());
  refuseOverDay(4.99, settings({ 'budget.day_usd': 5 }));
  expect(() => refuseOverDay(5, settings({ 'budget.day_usd': 5 }))).toThrow(
    expect.objectContaining({
      code: 'BUDGET_EXCEEDED',
      message: '$5.00 were spent today; budget.day_usd is 5',
      suggestions: [expect.stringContaining('squad config set budget.day_usd 10')],
    }),
  );
});

test("a day begins at the user's own midnight", () => {
  const start = new Date(startOfDay(Date.UTC(2026, 5, 1, 12)));
  expect([start.getHours(), start.getMinutes(), start.getSeconds(), start.getMilliseconds()]).toEqual([
    0, 0, 0, 0,
  ]);
});
