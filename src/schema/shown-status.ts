import type { RunError, RunStatus, ShownStatus } from './run.ts';
import type { RunCard } from './run-card.ts';

export type { ShownStatus };

/** Code of the error of a completed run that reached its review limit. */
export const REVIEW_LIMIT = 'REVIEW_LIMIT_EXCEEDED';

interface Ended {
  status: RunStatus;
  error: RunError | null;
}

export const isAtReviewLimit = ({ status, error }: Ended): boolean =>
  status === 'completed' && error?.code === REVIEW_LIMIT;

export const shownStatus = (run: Ended): ShownStatus => (isAtReviewLimit(run) ? 'needs_you' : run.status);

/** Columns of the board in the web UI that hold runs, in their order. */
export const BOARD_COLUMNS = ['working', 'needs_you', 'in_review', 'ready', 'merged', 'done'] as const;
export type BoardColumn = (typeof BOARD_COLUMNS)[number];

type Placed = Pick<RunCard, 'need' | 'status' | 'reviewOf' | 'branchState' | 'endedAt'>;

/** Returns the board column of a run. Null for a reviewer, because the board shows the run in review instead. */
export function columnOf({ need, status, reviewOf, branchState, endedAt }: Placed): BoardColumn | null {
  if (need === 'needs_you' || need === 'failed') return 'needs_you';
  if (reviewOf !== null) return null;
  if (status === 'waiting_review') return 'in_review';
  if (endedAt === null) return 'working';
  return branchState ?? 'done';
}

const URGENCY: readonly BoardColumn[] = ['needs_you', 'working', 'in_review', 'ready', 'merged', 'done'];

/** Returns the board column of a squad, which is the column of its most urgent member. */
export function columnOfSquad(members: readonly Placed[]): BoardColumn | null {
  const columns = new Set(members.map(columnOf));
  return URGENCY.find(column => columns.has(column)) ?? null;
}
