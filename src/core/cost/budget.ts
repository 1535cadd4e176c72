import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';

export type BudgetScope = 'run' | 'squad' | 'day';

export interface Spending {
  spentUsd: number;
  budgetUsd: number;
  scope: BudgetScope;
}

/** Worth a word before it is too late. */
const WARN_AT = 0.8;

const SETTING = { run: 'budget.run_usd', squad: 'budget.squad_usd', day: 'budget.day_usd' } as const;

/** What is to be done about what has been spent: nothing yet, a word, or an end. */
export function review(spendings: Spending[]): { warn: Spending[]; over: Spending | null } {
  return {
    warn: spendings.filter(({ spentUsd, budgetUsd }) => spentUsd >= WARN_AT * budgetUsd),
    over: spendings.find(({ spentUsd, budgetUsd }) => spentUsd >= budgetUsd) ?? null,
  };
}

/** The narrower of what was asked for and what the user set for every run. */
export function runBudget(asked: number | null, settings: HubSettings): number | null {
  const every = settings['budget.run_usd'] ?? null;
  return asked === null || every === null ? (asked ?? every) : Math.min(asked, every);
}

/** Throws when the day's money is gone: then nothing more is started. */
export function refuseOverDay(spentToday: number, settings: HubSettings): void {
  const budgetUsd = settings['budget.day_usd'];
  if (budgetUsd === undefined || spentToday < budgetUsd) return;
  throw new SquadError(
    'BUDGET_EXCEEDED',
    `${dollars(spentToday)} were spent today; budget.day_usd is ${budgetUsd}`,
    {
      suggestions: [
        `Raise it with \`squad config set ${shellWord(SETTING.day)} ${Math.ceil(spentToday * 2)}\`, or go on tomorrow. Nothing was started.`,
      ],
    },
  );
}

/** Why a run was stopped for money, with the limit, its value and how to raise it. */
export const overBudget = (spending: Spending): string =>
  `${reached(spending)} and it was stopped. What it did until then is kept. ${howToRaise(spending)}`;

/** For a run that went over a budget and was not stopped. */
export const wentOver = (spending: Spending, onlyWarns: boolean): string =>
  `${reached(spending)}. It was not stopped: ${
    onlyWarns ? 'this budget only warns' : 'its turn had already ended when this was known'
  }. ${howToRaise(spending)}`;

function reached({ spentUsd, budgetUsd, scope }: Spending): string {
  const whose = { run: 'The run', squad: 'Its squad', day: 'All runs of today together' }[scope];
  return `${whose} reached ${dollars(spentUsd)} of a budget of ${dollars(budgetUsd)}`;
}

const howToRaise = ({ scope }: Spending): string =>
  `Raise the limit: ${scope === 'run' ? "max_cost_usd, the role's `budget`, or " : ''}\`squad config set ${shellWord(SETTING[scope])} …\`.`;

/** The first moment of the day it is, in the user's own time. */
export function startOfDay(now: number): number {
  return new Date(now).setHours(0, 0, 0, 0);
}

const dollars = (amount: number): string => `$${amount < 0.01 ? amount.toFixed(4) : amount.toFixed(2)}`;
