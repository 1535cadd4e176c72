import type { BranchState, Need, RunCard } from '../../src/schema/run-card.ts';
import { isAtReviewLimit, type ShownStatus } from '../../src/schema/shown-status.ts';
import type { IconName } from './icon.tsx';

export interface StatusStyle {
  word: string;
  icon: IconName;
  /** Name of the status colour in tokens.css. */
  tone: 'ask' | 'bad' | 'busy' | 'calm' | 'good' | 'off';
}

const OF_STATUS: Record<ShownStatus, StatusStyle> = {
  needs_you: { word: 'needs you', icon: 'hand', tone: 'ask' },
  queued: { word: 'queued', icon: 'clock', tone: 'calm' },
  running: { word: 'running', icon: 'half', tone: 'busy' },
  waiting_review: { word: 'in review', icon: 'eye', tone: 'busy' },
  waiting_children: { word: 'idle', icon: 'clock', tone: 'calm' },
  waiting_limit: { word: 'limited', icon: 'clock', tone: 'busy' },
  completed: { word: 'done', icon: 'check', tone: 'good' },
  error: { word: 'failed', icon: 'cross', tone: 'bad' },
  timeout: { word: 'timed out', icon: 'cross', tone: 'bad' },
  lost: { word: 'lost', icon: 'cross', tone: 'bad' },
  cancelled: { word: 'cancelled', icon: 'stop', tone: 'off' },
  terminated: { word: 'ended', icon: 'stop', tone: 'off' },
  abandoned: { word: 'abandoned', icon: 'stop', tone: 'off' },
};

const QUIET_LABELS = {
  slow_start: 'slow start',
  silent: 'silent',
  stalled: 'stalled',
  dead: 'dead',
  away: 'away',
} as const;

export const statusStyle = (status: ShownStatus): StatusStyle => OF_STATUS[status];

const OF_BRANCH: Record<BranchState, StatusStyle> = {
  ready: { word: 'ready to merge', icon: 'merge', tone: 'busy' },
  merged: { word: 'merged', icon: 'merge', tone: 'good' },
};

export const branchStyle = (state: BranchState): StatusStyle => OF_BRANCH[state];

export type ShownCard = Pick<RunCard, 'need' | 'status' | 'error' | 'isStopping' | 'quiet'> & {
  /** Absent in cards of runs that an older version saved to a file. */
  branchState?: RunCard['branchState'];
};

/** Style of a card by the most important fact: it needs the user, then it is stopping or stalled, then its status. */
export function cardStyle(card: ShownCard): StatusStyle {
  if (card.need === 'needs_you') return OF_STATUS.needs_you;
  // A run at its review limit is not shown as done, even if its task was continued.
  if (isAtReviewLimit(card)) return { word: 'review limit', icon: 'warn', tone: 'ask' };
  if (card.isStopping) return { word: 'stopping', icon: 'stop', tone: 'off' };
  if (card.quiet && card.status === 'running')
    return { word: QUIET_LABELS[card.quiet.state], icon: 'warn', tone: 'ask' };
  if (card.status === 'completed' && card.branchState) return OF_BRANCH[card.branchState];
  return OF_STATUS[card.status];
}

export const NEEDS: readonly Need[] = ['needs_you', 'failed', 'running', 'queued', 'done'];

export const NEED_LABELS: Record<Need, string> = {
  needs_you: 'needs you',
  failed: 'failed',
  running: 'running',
  queued: 'queued',
  done: 'done',
};
