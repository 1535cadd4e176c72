import type { Clock } from '../../base/clock.ts';
import type { Review, ReviewOutcome } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import type { Change } from '../ports/store.ts';
import { eventOf } from './ports.ts';

export type Closing = { outcome: ReviewOutcome } & Partial<
  Pick<Review, 'reason' | 'feedback' | 'feedbackBy' | 'priority' | 'actionableItems' | 'feedbackCommit'>
>;

/** A review that is over, as rows and the event that tells of it. */
export function closing(
  review: Review,
  how: Closing,
  coder: Pick<Run, 'id' | 'squadId'>,
  clock: Clock,
): Change {
  const closed: Review = { ...review, ...how, closedAt: clock.now() };
  const { id: reviewId, reviewerId, iteration, reason, feedbackCommit } = closed;
  return {
    reviews: [closed],
    events: [
      eventOf(clock, coder, {
        type: 'review.closed',
        ...{ reviewId, reviewerId, iteration, outcome: how.outcome, reason, feedbackCommit },
      }),
    ],
  };
}

/** A call that was to end the review and did not. */
export interface Refusal {
  tool: string;
  code: string | null;
}

const refusedWords = (refused: Refusal | null): string =>
  refused ? ` Its ${refused.tool} was refused${refused.code === null ? '' : ` (${refused.code})`}.` : '';

/** What a review came to whose reviewer has ended and left it open. */
export function closingOfEnded(reviewer: Run | null, refused: Refusal | null = null): Closing {
  if (!reviewer) return { outcome: 'error', reason: 'What became of the reviewer is not known any more.' };
  const { status, error } = reviewer;
  const reason = error ? `${error.code}: ${error.message}` : null;
  if (status === 'timeout')
    return { outcome: 'timeout', reason: reason ?? 'The reviewer reached its time limit.' };
  if (status === 'completed')
    return {
      outcome: 'no_feedback',
      reason: `The reviewer ended without feedback or a pull request.${refusedWords(refused)}`,
    };
  if (status === 'error' || status === 'lost') return { outcome: 'error', reason };
  return { outcome: 'cancelled', reason: `The reviewer was ${status}.` };
}
