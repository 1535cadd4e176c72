/** Lengths of the bars from 0 to 1, and the position of the budget line. Null if there is nothing to draw. */
export function sharesOf(
  costs: readonly (number | null)[],
  budget: number | null,
): { bars: (number | null)[]; line: number | null } {
  const most = Math.max(budget ?? 0, ...costs.map(cost => cost ?? 0));
  if (most <= 0) return { bars: costs.map(cost => (cost === null ? null : 0)), line: null };
  return {
    bars: costs.map(cost => (cost === null ? null : cost / most)),
    line: budget === null ? null : budget / most,
  };
}

export type Measure = 'cost' | 'tokens';

interface Measured {
  costUsd: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
}

/** Returns the cost in US dollars, or the number of tokens. Null if the engine did not report it. */
export function amountOf({ costUsd, inputTokens, outputTokens }: Measured, measure: Measure): number | null {
  if (measure === 'cost') return costUsd;
  return inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
}

/** Today's cost relative to the daily budget. */
export function standing(
  spent: number | null,
  budget: number | null,
): { state: 'none' | 'under' | 'near' | 'over'; share: number | null } {
  if (budget === null) return { state: 'none', share: null };
  const share = (spent ?? 0) / budget;
  return { state: share >= 1 ? 'over' : share >= 0.8 ? 'near' : 'under', share };
}

/** Says how many runs have an unknown cost, which is missing from the sum. */
export function describeUnreported(unreported: number, runs: number): string {
  if (unreported === 0) return '';
  if (unreported >= runs) return runs === 1 ? 'unknown' : 'all unknown';
  return `${unreported} of ${runs} unknown`;
}
