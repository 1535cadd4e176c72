import { isEnd, type Run, type RunStatus } from '../../schema/run.ts';
import type { Need } from '../../schema/run-card.ts';

/** Ends that nobody wished for. */
export const FAILURES = ['error', 'timeout', 'lost'] as const satisfies RunStatus[];

/** After a day somebody has seen it, or does not care. */
export const FAILURE_COUNTS_MS = 24 * 60 * 60_000;

export const isFailure = (status: RunStatus): boolean => (FAILURES as readonly string[]).includes(status);

/** A failure of the last day: it wants to be looked at unless its task was taken up again since. */
export const isFreshFailure = ({ status, endedAt }: Pick<Run, 'status' | 'endedAt'>, now: number): boolean =>
  isFailure(status) && endedAt !== null && endedAt >= now - FAILURE_COUNTS_MS;

/** Longer than a weekend: after that a run whose reviews ran out is listed with the others. */
export const DECISION_COUNTS_MS = 7 * 24 * 60 * 60_000;

/** How much a run wants somebody to look at it. */
export function needOf(
  run: Pick<Run, 'status' | 'endedAt'>,
  {
    asksUser,
    isUndecided,
    isTakenUp,
    now,
  }: { asksUser: boolean; isUndecided: boolean; isTakenUp: boolean; now: number },
): Need {
  if (isUndecided) return 'needs_you';
  if (isEnd(run.status)) return isFreshFailure(run, now) && !isTakenUp ? 'failed' : 'done';
  if (asksUser) return 'needs_you';
  return run.status === 'queued' ? 'queued' : 'running';
}
