import type { RunError, RunStatus } from './run.ts';

/** A status as people and tools see it. A completed run whose reviews ran out needs a decision: it is not simply done. */
export type ShownStatus = RunStatus | 'needs_you';

/** The error of such a run, which is otherwise `completed`. */
export const REVIEW_LIMIT = 'REVIEW_LIMIT_EXCEEDED';

interface Ended {
  status: RunStatus;
  error: RunError | null;
}

export const isAtReviewLimit = ({ status, error }: Ended): boolean =>
  status === 'completed' && error?.code === REVIEW_LIMIT;

export const shownStatus = (run: Ended): ShownStatus => (isAtReviewLimit(run) ? 'needs_you' : run.status);
