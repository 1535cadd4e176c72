import type { RunError, RunStatus, ShownStatus } from './run.ts';

export type { ShownStatus };

/** Error of a completed run that reached its review limit. */
export const REVIEW_LIMIT = 'REVIEW_LIMIT_EXCEEDED';

interface Ended {
  status: RunStatus;
  error: RunError | null;
}

export const isAtReviewLimit = ({ status, error }: Ended): boolean =>
  status === 'completed' && error?.code === REVIEW_LIMIT;

export const shownStatus = (run: Ended): ShownStatus => (isAtReviewLimit(run) ? 'needs_you' : run.status);
