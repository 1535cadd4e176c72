import { isEnd, type Run, type Usage } from '../../schema/run.ts';
import type { UsageFigure } from '../ports/engine.ts';
import { isFailure } from '../runs/board.ts';
import { startOfDay } from './budget.ts';

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
export function dropUnseenTotals(
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

/** Null: no figure is known, which is not 0. Rounded, because 0.1 + 0.2 must not be shown as 0.30000000000000004. */
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

/** What of a run sums are made of. */
type Summed = Pick<Run, 'status' | 'usage' | 'startedAt' | 'endedAt'>;

/** And by what they are made. */
export type RunFigures = Summed &
  Pick<Run, 'id' | 'squadId' | 'roleId' | 'model' | 'createdAt'> & { subagent: string | null };

export interface Figures {
  runs: number;
  running: number;
  queued: number;
  completed: number;
  /** Ended as nobody wished. */
  failed: number;
  /** Ended because somebody wished it: cancelled, given up, or with its part in a review done. */
  stopped: number;
  /** Of the runs that reported it; null when none did. */
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  /** Some of the money was worked out from a price list. */
  cost_is_estimated: boolean;
  /** How long they worked, all together; null when none has started. */
  duration_seconds: number | null;
  /** Ended runs whose use nobody reported: it is not in the sums. */
  unreported: number;
}

export function figuresOf(runs: readonly Summed[], now: number): Figures {
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
    stopped: ended.length - completed - failed,
    input_tokens: usage?.input ?? null,
    output_tokens: usage?.output ?? null,
    cost_usd: usage?.costUsd ?? null,
    cost_is_estimated: usage?.costIsEstimated ?? false,
    duration_seconds: sumOfKnown(
      runs.map(({ startedAt, endedAt }) =>
        startedAt === null ? null : ((endedAt ?? now) - startedAt) / 1000,
      ),
    ),
    unreported: ended.filter(({ usage }) => usage === null).length,
  };
}

/** The days up to today in the user's own time, oldest first, each by its first moment. Not every day has 24 hours. */
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
