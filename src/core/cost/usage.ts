import type { Usage } from '../../schema/run.ts';
import type { UsageFigure } from '../ports/engine.ts';

const FIGURES: readonly UsageFigure[] = ['input', 'output', 'cached', 'costUsd'];

/** What a chat has used that is only begun. */
export const NOTHING_USED: Usage = { input: 0, output: 0, cached: 0, costUsd: 0, costIsEstimated: false };

/** Usage of a chat outside Squad. */
export const NOTHING_KNOWN: Usage = {
  ...{ input: null, output: null, cached: null, costUsd: null },
  costIsEstimated: false,
};

/**
 * Some engines count from the beginning of the chat: what earlier turns had used is taken off. Where that is not known,
 * neither is what this turn used.
 */
export function sinceLastTurn(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): Usage {
  const own = { ...usage };
  for (const figure of runningTotals) {
    const [now, then] = [usage[figure], before?.[figure] ?? null];
    // A chat that was shortened or begun anew counts from zero again.
    own[figure] = now === null || then === null ? null : now >= then ? now - then : now;
  }
  return own;
}

/** Figures that were reported, but for the whole of a chat whose beginning nobody saw. */
export function withoutBeginning(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): UsageFigure[] {
  return runningTotals.filter(figure => usage[figure] !== null && (before?.[figure] ?? null) === null);
}

/**
 * What the chat has used by now; null when nothing is known of it. A turn that was stopped may have said only what it used
 * itself, also by an engine that counts from the beginning: the next turn's count will hold it.
 */
export function totalsAfter(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): Usage | null {
  const totals = { ...NOTHING_KNOWN };
  for (const figure of FIGURES) {
    const [now, then] = [usage[figure], before?.[figure] ?? null];
    totals[figure] = runningTotals.includes(figure) ? now : then === null ? null : then + (now ?? 0);
  }
  return isEmpty(totals) ? null : totals;
}

/** Of turns one after the other. What either did not report is not known of both; a turn that reported nothing at all adds nothing. */
export function usageOfBoth(before: Usage | null, now: Usage | null): Usage | null {
  if (before === null || now === null) return before ?? now;
  const sum = (figure: UsageFigure) =>
    before[figure] === null || now[figure] === null ? null : before[figure] + now[figure];
  return {
    ...{ input: sum('input'), output: sum('output'), cached: sum('cached'), costUsd: sum('costUsd') },
    costIsEstimated: before.costIsEstimated || now.costIsEstimated,
  };
}

export const isEmpty = (usage: Usage): boolean => FIGURES.every(figure => usage[figure] === null);
