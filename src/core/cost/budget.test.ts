import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { figure } from '../../../test/faults/figures.ts';
import { HubSettings } from '../../schema/config.ts';
import { checkDailyBudget, overBudget, review, runBudget, startOfDay } from './budget.ts';

const settings = (some: Record<string, number> = {}) => HubSettings.parse(some);
const spent = (spentUsd: number) => ({ spentUsd, budgetUsd: 1, scope: 'run' as const });

describe('spent money', () => {
  test('causes a warning at 80 % and a stop at 100 %', () => {
    expect(review([spent(0.79)])).toEqual({ warn: [], over: null });
    expect(review([spent(0.8)])).toEqual({ warn: [spent(0.8)], over: null });
    expect(review([spent(1)])).toEqual({ warn: [spent(1)], over: spent(1) });
  });
  test('is reported with the limit, its value and how to raise it', () => {
    expect(overBudget({ spentUsd: 1.204, budgetUsd: 1, scope: 'squad' })).toMatch(
      /\$1\.20 of a budget of \$1\.00.*budget\.squad_usd/,
    );
  });
});

test('a run has the smaller of the requested budget and that of every run', () => {
  expect(runBudget(2, settings())).toBe(2);
  expect(runBudget(null, settings({ 'budget.run_usd': 1 }))).toBe(1);
  expect(runBudget(2, settings({ 'budget.run_usd': 1 }))).toBe(1);
  expect(runBudget(0.5, settings({ 'budget.run_usd': 1 }))).toBe(0.5);
  expect(runBudget(null, settings())).toBeNull();
});

test("nothing is started when the day's money is gone", () => {
  checkDailyBudget(5, settings());
  checkDailyBudget(4.99, settings({ 'budget.day_usd': 5 }));
  expect(() => checkDailyBudget(5, settings({ 'budget.day_usd': 5 }))).toThrow(
    expect.objectContaining({
      code: 'BUDGET_EXCEEDED',
      message:
        "Today's runs have cost $5.00, which reaches the limit of 5 US dollars per day (budget.day_usd)",
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

test.each([
  ['back', '2026-10-24T22:00:00.000Z', 25],
  ['forward', '2026-03-28T23:00:00.000Z', 23],
])(
  'the day of a budget is one day when summer time sets the clock %s',
  { tags: ['R23'] },
  (way, midnight, hours) => {
    const program = `
    import { startOfDay } from ${JSON.stringify(new URL('./budget.ts', import.meta.url).href)};
    const first = Date.parse(${JSON.stringify(midnight)});
    const starts = Array.from({ length: 4 * 30 }, (_, i) => startOfDay(first + i * 900_000));
    console.log(JSON.stringify({ own: starts.filter(at => at === first).length / 4, next: (starts.at(-1) - first) / 3_600_000 }));`;
    // In a process of its own: the time zone of this one is the machine's.
    const out = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
      env: { TZ: 'Europe/Berlin' },
      encoding: 'utf8',
    });
    expect(JSON.parse(out)).toEqual({ own: hours, next: hours });
    figure('R23', { reached: 1, of: 1, told: `a day of ${hours} hours, the clock set ${way}` });
  },
);
