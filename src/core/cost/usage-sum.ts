import { isEnd, type Run, type Usage } from '../../schema/run.ts';

/** What several runs used together, as far as it is known. Null: none of them has reported anything. */
export function usageTogether(usages: readonly (Usage | null)[]): Usage | null {
  const told = usages.filter(usage => usage !== null);
  if (told.length === 0) return null;
  return {
    input: sumOfKnown(told.map(({ input }) => input)),
    output: sumOfKnown(told.map(({ output }) => output)),
    cached: sumOfKnown(told.map(({ cached }) => cached)),
    costUsd: sumOfKnown(told.map(({ costUsd }) => costUsd)),
    costIsEstimated: told.some(({ costIsEstimated }) => costIsEstimated),
  };
}

/** Null: no figure is known. That is not 0. */
function sumOfKnown(figures: readonly (number | null)[]): number | null {
  const known = figures.filter(figure => figure !== null);
  return known.length === 0 ? null : Number(known.reduce((sum, figure) => sum + figure, 0).toFixed(6));
}

/** It said what it used of which model, and that has no price. */
export const isUnpriced = ({ usage, model }: Pick<Run, 'usage' | 'model'>): boolean =>
  model !== null && usage !== null && usage.costUsd === null && usage.input !== null;

/** It was at work and is over, and nobody knows what it cost: that is missing in every sum. */
export const isUnreported = (run: Pick<Run, 'status' | 'startedAt'>, usage: Usage | null): boolean =>
  isEnd(run.status) && run.startedAt !== null && (usage?.costUsd ?? null) === null;
