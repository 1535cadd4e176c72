import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type RunOptions } from '../../schema/run.ts';
import type { Store } from '../ports/store.ts';
import { descendantsOf, LONGEST_LINE } from '../runs/descendants.ts';

export interface MoneyLeftPorts {
  store: Pick<Store, 'run' | 'runs'>;
  /** What a run has spent by now, as far as it is known. */
  spentBy(run: Run): number;
}

/**
 * What is left of the budget of a run, and of those it came of, after what they and all that came of them have spent or may
 * still spend. Null: none of them has one that is held.
 */
export async function moneyLeft(id: RunId, { store, spentBy }: MoneyLeftPorts): Promise<number | null> {
  const asking = new Set<RunId>();
  let left: number | null = null;
  let above: RunId | null = id;
  for (let i = 0; above !== null && i < LONGEST_LINE; i++) {
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

/** Spent, and set aside for children at work: what one of them was promised, another cannot have. */
function taken(run: Run, family: Run[], asking: Set<RunId>, spentBy: MoneyLeftPorts['spentBy']): number {
  const children = family.filter(({ parentId }) => parentId === run.id);
  return children.reduce((sum, child) => {
    const spent = taken(child, family, asking, spentBy);
    const isPromised = !isEnd(child.status) && !asking.has(child.id) && child.options.stopAtBudget;
    return sum + (isPromised ? Math.max(spent, child.options.budgetUsd ?? 0) : spent);
  }, spentBy(run));
}

/** The budget of one of `count` runs that are started together out of that money. Throws when it is used up. */
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
      `The budget of run ${parent} is used up: it can start nothing more`,
      {
        suggestions: [
          'What was done until now is kept. Raise its max_cost_usd, or the `budget` of its role.',
        ],
      },
    );
  const share = left / count;
  return { budgetUsd: Math.min(asked.budgetUsd ?? share, share), stopAtBudget: true };
}
