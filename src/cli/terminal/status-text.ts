import type { RunError, RunStatus } from '../../schema/run.ts';
import type { BranchState } from '../../schema/run-card.ts';
import { isAtReviewLimit, type ShownStatus } from '../../schema/shown-status.ts';
import type { QuietState } from '../runs/run-view.ts';
import type { Style } from './style.ts';

/** Text and colour of each status. */
const STATUSES: Record<ShownStatus, { text: string; paint: 'red' | 'green' | 'yellow' | 'dim' | 'bold' }> = {
  needs_you: { text: 'needs you', paint: 'yellow' },
  queued: { text: 'queued', paint: 'dim' },
  running: { text: 'running', paint: 'bold' },
  waiting_review: { text: 'in review', paint: 'yellow' },
  waiting_children: { text: 'idle', paint: 'dim' },
  waiting_limit: { text: 'limited', paint: 'yellow' },
  completed: { text: 'done', paint: 'green' },
  terminated: { text: 'terminated', paint: 'green' },
  error: { text: 'failed', paint: 'red' },
  timeout: { text: 'timeout', paint: 'red' },
  lost: { text: 'lost', paint: 'red' },
  cancelled: { text: 'cancelled', paint: 'yellow' },
  abandoned: { text: 'abandoned', paint: 'yellow' },
};

export const statusText = (status: ShownStatus): string => STATUSES[status].text;
export const paintStatus = (status: ShownStatus, style: Style, text = statusText(status)): string =>
  style[STATUSES[status].paint](text);

/** Text for a run that ended at its review limit; it differs while the user still has to decide. Null for any other run. */
export function reviewLimitText(
  run: { status: RunStatus; error: RunError | null; needsYou: boolean },
  style: Style,
): string | null {
  if (!isAtReviewLimit(run)) return null;
  return style.yellow(run.needsYou ? STATUSES.needs_you.text : 'review limit');
}

const BRANCH_STATES: Record<BranchState, { text: string; paint: 'yellow' | 'green' }> = {
  ready: { text: 'ready to merge', paint: 'yellow' },
  merged: { text: 'merged', paint: 'green' },
};

/** Text for the branch of a run that completed. Null if the run has no branch with work, or did not complete. */
export function branchText(
  { status, branchState }: { status: RunStatus; branchState: BranchState | null },
  style: Style,
): string | null {
  if (status !== 'completed' || branchState === null) return null;
  const { text, paint } = BRANCH_STATES[branchState];
  return style[paint](text);
}

/** True if the run failed and the user did not cause that. */
export const isFailure = (status: RunStatus): boolean => STATUSES[status].paint === 'red';

/** Formats like `running 2 · failed 1 · done 4`, active runs first and successful ones last. */
export function countByStatus(statuses: readonly ShownStatus[], style: Style): string {
  const order: ShownStatus[] = [
    ...([
      'needs_you',
      'running',
      'waiting_review',
      'waiting_children',
      'waiting_limit',
      'queued',
      'error',
      'timeout',
      'lost',
    ] as const),
    ...(['cancelled', 'abandoned', 'completed', 'terminated'] as const),
  ];
  return order
    .map(status => ({ status, count: statuses.filter(other => other === status).length }))
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => paintStatus(status, style, `${statusText(status)} ${count}`))
    .join(style.dim(' · '));
}

export const STALL_TEXT: Record<QuietState, string> = {
  slow_start: 'slow start',
  silent: 'silent',
  stalled: 'stalled',
  dead: 'dead',
  away: 'away',
};

/** Describes an inactive run, for example `silent: No sign for 61 s; its one process waiting for 41 s.` */
export const describeStall = ({ state, text }: { state: QuietState; text: string }, style: Style): string =>
  `${style.yellow(`${STALL_TEXT[state]}:`)} ${text}`;
