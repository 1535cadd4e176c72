import type { Usage } from '../schema/run.ts';
import type { UsageFigure } from './ports.ts';

const FIGURES: readonly UsageFigure[] = ['input', 'output', 'cached', 'costUsd'];

/** Some engines count from the beginning of the chat: what earlier turns had used is taken off. */
export function sinceLastTurn(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): Usage {
  const own = { ...usage };
  for (const figure of runningTotals) {
    const [now, then] = [usage[figure], before?.[figure] ?? 0];
    // A chat that was shortened or begun anew counts from zero again.
    own[figure] = now === null ? null : now >= then ? now - then : now;
  }
  return own;
}

/** What the chat has used by now, in the figures its engine counts like that. */
export function totalsAfter(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): Usage | null {
  if (runningTotals.length === 0) return before;
  const totals: Usage = { input: null, output: null, cached: null, costUsd: null, costIsEstimated: false };
  for (const figure of FIGURES)
    totals[figure] = runningTotals.includes(figure) ? usage[figure] : (before?.[figure] ?? null);
  return totals;
}
