import { isEnd, type Run } from '../../schema/run.ts';
import { isFailure } from '../runs/need.ts';

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
  return {
    runs: runs.length,
    running: runs.length - ended.length - queued,
    queued,
    completed,
    failed,
    stopped: ended.length - completed - failed,
    input_tokens: sum(runs.map(({ usage }) => usage?.input ?? null)),
    output_tokens: sum(runs.map(({ usage }) => usage?.output ?? null)),
    cost_usd: sum(runs.map(({ usage }) => usage?.costUsd ?? null)),
    cost_is_estimated: runs.some(({ usage }) => usage?.costIsEstimated === true),
    duration_seconds: sum(
      runs.map(({ startedAt, endedAt }) =>
        startedAt === null ? null : ((endedAt ?? now) - startedAt) / 1000,
      ),
    ),
    unreported: ended.filter(({ usage }) => usage === null).length,
  };
}

/** Nothing reported is not nothing used. */
function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null);
  return known.length === 0 ? null : Number(known.reduce((total, value) => total + value, 0).toFixed(6));
}
