import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type Usage } from '../../schema/run.ts';
import type { UsageFigure } from '../ports/engine.ts';
import { isFailure } from '../runs/board.ts';
import { startOfDay } from './budget.ts';

const FIGURES: readonly UsageFigure[] = ['input', 'output', 'cached', 'costUsd'];

/** Usage of a new chat. */
export const NOTHING_USED: Usage = { input: 0, output: 0, cached: 0, costUsd: 0, costIsEstimated: false };

/** Usage of a chat that was used outside Squad, so that its earlier usage is unknown. */
export const NOTHING_KNOWN: Usage = {
  ...{ input: null, output: null, cached: null, costUsd: null },
  costIsEstimated: false,
};

/**
 * Usage of this turn, for an engine that counts from the beginning of the chat: subtracts the usage of earlier turns.
 * If that is unknown, the result is unknown.
 */
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

/** Removes figures that the engine reported for the whole chat, if earlier usage of the chat is unknown. */
export function dropUnseenTotals(
  usage: Usage,
  runningTotals: readonly UsageFigure[],
  before: Usage | null,
): UsageFigure[] {
  return runningTotals.filter(figure => usage[figure] !== null && (before?.[figure] ?? null) === null);
}

/**
 * Usage of the chat so far. Null if unknown. A stopped turn may have reported only its own usage, even from an engine
 * that counts from the beginning; the count of the next turn will include it.
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

/**
 * Adds the usage of two consecutive turns. A figure is unknown if one of the turns did not report it. A turn without
 * any usage adds nothing.
 */
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

/** Total known usage of several runs. Null if none has reported anything. */
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

/** Sum of the known figures. Null if no figure is known, which is different from 0. */
function sumOfKnown(figures: readonly (number | null)[]): number | null {
  const known = figures.filter(figure => figure !== null);
  return known.length === 0 ? null : roundSum(known.reduce((sum, figure) => sum + figure, 0));
}

/** Rounds, so that 0.1 + 0.2 is not shown as 0.30000000000000004. */
export const roundSum = (sum: number): number => Number(sum.toFixed(6));

/** The run reported tokens of a model that has no price. */
export const isUnpriced = ({ usage, model }: Pick<Run, 'usage' | 'model'>): boolean =>
  model !== null && usage !== null && usage.costUsd === null && usage.input !== null;

/** Whether the run has started and ended, but its cost is unknown and missing in every sum. */
export const isUnreported = (run: Pick<Run, 'status' | 'startedAt'>, usage: Usage | null): boolean =>
  isEnd(run.status) && run.startedAt !== null && (usage?.costUsd ?? null) === null;

/** Sums over ended runs of one kind, or over a single run that has not ended. */
export interface RunSums {
  /** Id of the run that has not ended. Null if all have ended. */
  id: RunId | null;
  roleId: string | null;
  subagent: string | null;
  engine: string;
  model: string | null;
  workspace: string;
  status: Run['status'];
  /** Model without a price whose tokens were reported. Null if there is none. */
  unpricedModel: string | null;
  runs: number;
  /** Known cost. Null if no cost was reported. */
  costUsd: number | null;
  input: number | null;
  output: number | null;
  /** True if at least a part of the cost was estimated from a price list. */
  isEstimated: boolean;
  /** Number of ended runs that started and have no known cost, which is missing in every sum. */
  unreported: number;
  /** Number of ended runs that reported nothing. */
  withoutUsage: number;
  /** Total running time of ended runs. Null if none has run. */
  ranMs: number | null;
  /** Start of a single run that has not ended. Null if it has not started. */
  startedAt: number | null;
}

type Summed = Pick<
  Run,
  'id' | 'roleId' | 'engine' | 'workspace' | 'status' | 'model' | 'usage' | 'startedAt' | 'endedAt'
> & {
  options: Pick<Run['options'], 'subagent'>;
};

export function sumsOf(run: Summed): RunSums {
  const { id, roleId, engine, workspace, status, model, usage, startedAt, endedAt } = run;
  const hasEnded = isEnd(status);
  return {
    id: hasEnded ? null : id,
    roleId,
    subagent: run.options.subagent,
    ...{ engine, model, workspace, status },
    unpricedModel: isUnreported(run, usage) && isUnpriced(run) ? model : null,
    runs: 1,
    costUsd: usage?.costUsd ?? null,
    input: usage?.input ?? null,
    output: usage?.output ?? null,
    isEstimated: usage?.costIsEstimated ?? false,
    unreported: isUnreported(run, usage) ? 1 : 0,
    withoutUsage: hasEnded && usage === null ? 1 : 0,
    ranMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
    startedAt: hasEnded ? null : startedAt,
  };
}

/** A figure that no run reported is null. */
export function figuresOf(sums: readonly RunSums[], now: number) {
  const count = (isOf: (of: RunSums) => boolean) =>
    sums.filter(isOf).reduce((total, { runs }) => total + runs, 0);
  const runs = count(() => true);
  const ended = count(({ status }) => isEnd(status));
  const completed = count(({ status }) => status === 'completed');
  const failed = count(({ status }) => isFailure(status));
  const queued = count(({ status }) => status === 'queued');
  return {
    runs,
    running: runs - ended - queued,
    queued,
    completed,
    failed,
    /** Runs that were ended on purpose: cancelled runs, abandoned runs, and reviewers whose review is done. */
    stopped: ended - completed - failed,
    input_tokens: sumOfKnown(sums.map(({ input }) => input)),
    output_tokens: sumOfKnown(sums.map(({ output }) => output)),
    cost_usd: sumOfKnown(sums.map(({ costUsd }) => costUsd)),
    /** True if at least a part of the cost was estimated from a price list. */
    cost_is_estimated: sums.some(({ isEstimated }) => isEstimated),
    /** Total running time. */
    duration_seconds: sumOfKnown(
      sums.map(({ ranMs, startedAt }) => (startedAt === null ? ranMs : now - startedAt)).map(inSeconds),
    ),
    /** Number of ended runs without reported usage, which are not included in the sums. */
    unreported: sums.reduce((total, { withoutUsage }) => total + withoutUsage, 0),
  };
}

const inSeconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

/** Start times of the last days in the user's time zone, oldest first. Not every day has 24 hours. */
export function lastDays(now: number, count: number): number[] {
  const today = new Date(startOfDay(now));
  return Array.from({ length: count }, (_, i) => {
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - i));
    return day.getTime();
  });
}

/** Local date as `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  const date = new Date(at);
  const two = (figure: number) => String(figure).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
