import { isEnd, type Run, type Usage } from '../../schema/run.ts';
import type { UsageFigure } from '../ports/engine.ts';
import { isFailure } from '../runs/board.ts';
import { startOfDay } from './budget.ts';

const FIGURES: readonly UsageFigure[] = ['input', 'output', 'cached', 'costUsd'];

/** Usage of a new chat. */
export const NOTHING_USED: Usage = { input: 0, output: 0, cached: 0, costUsd: 0, costIsEstimated: false };

/** Usage of a chat outside Squad. */
export const NOTHING_KNOWN: Usage = {
  ...{ input: null, output: null, cached: null, costUsd: null },
  costIsEstimated: false,
};

/** Usage of this turn from an engine that counts from the beginning of the chat: subtracts what earlier turns used. Where that is unknown, the result is unknown. */
export function sinceLastTurn(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): Usage {
  const own = { ...usage };
  for (const figure of runningTotals) {
    const [now, then] = [usage[figure], before?.[figure] ?? null];
    // A chat that was compacted or restarted counts from zero again.
    own[figure] = now === null || then === null ? null : now >= then ? now - then : now;
  }
  return own;
}

/** Figures that the engine reported for the whole chat, where earlier usage of the chat is unknown. */
export function dropUnseenTotals(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): UsageFigure[] {
  return runningTotals.filter(figure => usage[figure] !== null && (before?.[figure] ?? null) === null);
}

/**
 * Usage of the chat so far; null: unknown. A stopped turn may have reported only its own usage, even from an engine that counts
 * from the beginning: the count of the next turn will include it.
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

/** Usage of consecutive turns. A figure that either did not report is unknown for both; a turn that reported nothing adds nothing. */
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

/** Known usage of several runs together. Null: none has reported anything. */
export function usageTogether(usages: readonly (Usage | null)[]): Usage | null {
  const reported = usages.filter(usage => usage !== null);
  if (reported.length === 0) return null;
  return {
    input: sumOfKnown(reported.map(({ input }) => input)),
    output: sumOfKnown(reported.map(({ output }) => output)),
    cached: sumOfKnown(reported.map(({ cached }) => cached)),
    costUsd: sumOfKnown(reported.map(({ costUsd }) => costUsd)),
    costIsEstimated: reported.some(({ costIsEstimated }) => costIsEstimated),
  };
}

/** Null: no figure is known, which is not 0. */
function sumOfKnown(figures: readonly (number | null)[]): number | null {
  const known = figures.filter(figure => figure !== null);
  return known.length === 0 ? null : roundSum(known.reduce((sum, figure) => sum + figure, 0));
}

/** 0.1 + 0.2 must not be shown as 0.30000000000000004. */
export const roundSum = (sum: number): number => Number(sum.toFixed(6));

/** It reported tokens of a model that has no price. */
export const isUnpriced = ({ usage, model }: Pick<Run, 'usage' | 'model'>): boolean =>
  model !== null && usage !== null && usage.costUsd === null && usage.input !== null;

/** It ran and has ended, and its cost is unknown: it is missing in every sum. */
export const isUnreported = (run: Pick<Run, 'status' | 'startedAt'>, usage: Usage | null): boolean =>
  isEnd(run.status) && run.startedAt !== null && (usage?.costUsd ?? null) === null;

type Summed = Pick<Run, 'status' | 'usage' | 'startedAt' | 'endedAt'>;

export type RunFigures = Summed &
  Pick<Run, 'id' | 'squadId' | 'roleId' | 'model' | 'createdAt'> & { subagent: string | null };

/** A figure that no run reported is null. */
export function figuresOf(runs: readonly Summed[], now: number) {
  const ended = runs.filter(({ status }) => isEnd(status));
  const completed = ended.filter(({ status }) => status === 'completed').length;
  const failed = ended.filter(({ status }) => isFailure(status)).length;
  const queued = runs.filter(({ status }) => status === 'queued').length;
  const usage = usageTogether(runs.map(run => run.usage));
  return {
    runs: runs.length,
    running: runs.length - ended.length - queued,
    queued,
    completed,
    failed,
    /** Ended on purpose: cancelled, abandoned, or with its part in a review done. */
    stopped: ended.length - completed - failed,
    input_tokens: usage?.input ?? null,
    output_tokens: usage?.output ?? null,
    cost_usd: usage?.costUsd ?? null,
    /** Some of the cost was estimated from a price list. */
    cost_is_estimated: usage?.costIsEstimated ?? false,
    /** Total running time. */
    duration_seconds: sumOfKnown(
      runs.map(({ startedAt, endedAt }) =>
        startedAt === null ? null : ((endedAt ?? now) - startedAt) / 1000,
      ),
    ),
    /** Ended runs without reported usage, which are not in the sums. */
    unreported: ended.filter(({ usage }) => usage === null).length,
  };
}

/** Start times of the last days in the user's time zone, oldest first. Not every day has 24 hours. */
export function lastDays(now: number, count: number): number[] {
  const today = new Date(startOfDay(now));
  return Array.from({ length: count }, (_, i) => {
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - i));
    return day.getTime();
  });
}

/** As `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  const date = new Date(at);
  const two = (figure: number) => String(figure).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
