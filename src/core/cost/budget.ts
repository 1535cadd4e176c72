import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type RunOptions } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Store } from '../ports/store.ts';
import { descendantsOf, MAX_LINE_LENGTH } from '../runs/descendants.ts';

export type Spending = Omit<Extract<EventBody, { type: 'run.budget' }>, 'type'>;
export type BudgetScope = Spending['scope'];

/** Share of a budget at which a warning is recorded. */
const WARN_AT = 0.8;

const SETTING = { run: 'budget.run_usd', squad: 'budget.squad_usd', day: 'budget.day_usd' } as const;

/** Decides which budgets to warn about, and which one is exceeded first. */
export function review(spendings: Spending[]): { warn: Spending[]; over: Spending | null } {
  return {
    warn: spendings.filter(({ spentUsd, budgetUsd }) => spentUsd >= WARN_AT * budgetUsd),
    over: spendings.find(({ spentUsd, budgetUsd }) => spentUsd >= budgetUsd) ?? null,
  };
}

/** The smaller of the requested budget and the one set for every run. */
export function runBudget(asked: number | null, settings: HubSettings): number | null {
  const every = settings['budget.run_usd'] ?? null;
  return asked === null || every === null ? (asked ?? every) : Math.min(asked, every);
}

/** Throws when the day's budget is used up. */
export function checkDailyBudget(spentToday: number, settings: HubSettings): void {
  const budgetUsd = settings['budget.day_usd'];
  if (budgetUsd === undefined || spentToday < budgetUsd) return;
  throw new SquadError(
    'BUDGET_EXCEEDED',
    `Today's runs have cost ${dollars(spentToday)}, which reaches the limit of ${budgetUsd} US dollars per day (budget.day_usd)`,
    {
      suggestions: [
        `Raise the limit with \`squad config set ${shellWord(SETTING.day)} ${Math.ceil(spentToday * 2)}\`, or continue tomorrow. Nothing was started.`,
      ],
    },
  );
}

/** Why a run was stopped for its cost, with the limit, its value and how to raise it. */
export const overBudget = (spending: Spending): string =>
  `${reached(spending)} and it was stopped. Its work so far is kept. ${howToRaise(spending)}`;

/** Note for a run that exceeded a budget and was not stopped. */
export const describeOverspend = (spending: Spending, onlyWarns: boolean): string =>
  `${reached(spending)}. It was not stopped: ${
    onlyWarns ? 'this budget only warns' : 'its turn had already ended when this was known'
  }. ${howToRaise(spending)}`;

function reached({ spentUsd, budgetUsd, scope }: Spending): string {
  const whose = { run: 'The run', squad: 'Its squad', day: 'All runs of today together' }[scope];
  return `${whose} reached ${dollars(spentUsd)} of a budget of ${dollars(budgetUsd)}`;
}

const howToRaise = ({ scope }: Spending): string =>
  `Raise the limit: ${scope === 'run' ? "max_cost_usd, the role's `budget`, or " : ''}\`squad config set ${shellWord(SETTING[scope])} …\`.`;

/** The start of the day in the user's time zone. */
export function startOfDay(now: number): number {
  return new Date(now).setHours(0, 0, 0, 0);
}

const dollars = (amount: number): string => `$${amount < 0.01 ? amount.toFixed(4) : amount.toFixed(2)}`;

export interface RemainingBudgetPorts {
  store: Pick<Store, 'run' | 'runs'>;
  /** Known cost of a run so far. */
  spentBy(run: Run): number;
}

/**
 * Money left in the budgets of a run and its ancestors, after everything that they and their descendants have spent or
 * may still spend. Null if none of them has an enforced budget.
 */
export async function remainingBudget(
  id: RunId,
  { store, spentBy }: RemainingBudgetPorts,
): Promise<number | null> {
  const asking = new Set<RunId>();
  let left: number | null = null;
  let above: RunId | null = id;
  for (let i = 0; above !== null && i < MAX_LINE_LENGTH; i++) {
    const run: Run | null = await store.run(above);
    if (!run) break;
    asking.add(run.id);
    const { budgetUsd, stopAtBudget } = run.options;
    if (budgetUsd !== null && stopAtBudget) {
      const rest = budgetUsd - taken(run, await descendantsOf(store, run.id), asking, spentBy);
      left = Math.min(left ?? rest, rest);
    }
    above = run.parentId;
  }
  return left;
}

/** Money that is spent or reserved for running children, so that no amount is promised twice. */
function taken(
  run: Run,
  family: Run[],
  asking: Set<RunId>,
  spentBy: RemainingBudgetPorts['spentBy'],
): number {
  const children = family.filter(({ parentId }) => parentId === run.id);
  return children.reduce((sum, child) => {
    const spent = taken(child, family, asking, spentBy);
    const isPromised = !isEnd(child.status) && !asking.has(child.id) && child.options.stopAtBudget;
    return sum + (isPromised ? Math.max(spent, child.options.budgetUsd ?? 0) : spent);
  }, spentBy(run));
}

/**
 * Budget of each of `count` runs that are started together and share this remaining amount. Throws when nothing is
 * left.
 */
export function budgetFrom(
  parent: RunId,
  left: number | null,
  count: number,
  asked: Pick<RunOptions, 'budgetUsd' | 'stopAtBudget'>,
): Pick<RunOptions, 'budgetUsd' | 'stopAtBudget'> {
  if (left === null) return { budgetUsd: asked.budgetUsd, stopAtBudget: asked.stopAtBudget };
  if (left <= 0)
    throw new SquadError(
      'BUDGET_EXCEEDED',
      `The budget of run ${parent} is used up, so it cannot start more runs`,
      {
        suggestions: ['Work so far is kept. Raise max_cost_usd of that run, or the `budget` of its role.'],
      },
    );
  const share = left / count;
  return { budgetUsd: Math.min(asked.budgetUsd ?? share, share), stopAtBudget: true };
}
