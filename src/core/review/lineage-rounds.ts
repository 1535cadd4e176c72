import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Review, ReviewOutcome } from '../../schema/review.ts';

/** How far a task has come with its reviews. */
export interface Rounds {
  /** The last one's number: every review counts, whatever became of it. */
  current: number;
  max: number;
  /** Reviews that asked for more work. */
  sentBack: number;
  /** Reviews that came to nothing. */
  failed: number;
  /** So many of both, and the task is given up. */
  abandonAfter: number;
}

const FAILED: readonly ReviewOutcome[] = ['error', 'timeout', 'no_feedback'];

const isSentBack = ({ outcome }: Pick<Review, 'outcome'>): boolean => outcome === 'needs_work';
const isFailed = ({ outcome }: Pick<Review, 'outcome'>): boolean =>
  outcome !== null && FAILED.includes(outcome);

/** Whether the task is no further for it. */
export const wasInVain = (review: Pick<Review, 'outcome'>): boolean => isSentBack(review) || isFailed(review);

/** Counted per lineage, so that neither a retry nor a reply begins at nothing. */
export function roundsOf(reviews: readonly Review[], ownLimit: number | null, settings: HubSettings): Rounds {
  return {
    current: reviews.reduce((most, { iteration }) => Math.max(most, iteration), 0),
    max: ownLimit ?? settings['review.max_iterations'],
    sentBack: reviews.filter(isSentBack).length,
    failed: reviews.filter(isFailed).length,
    abandonAfter: settings['review.auto_abandon_after'],
  };
}

export const roundsLeft = ({ current, max }: Rounds): number => Math.max(0, max - current);

export const mustAbandon = ({ sentBack, failed, abandonAfter }: Rounds): boolean =>
  sentBack + failed >= abandonAfter;

/** Why it is given up. */
export function inVainWords({ sentBack, failed }: Pick<Rounds, 'sentBack' | 'failed'>): string {
  const reviews = (count: number) => (count === 1 ? '1 review' : `${count} reviews`);
  if (failed === 0) return `${reviews(sentBack)} of this task sent it back.`;
  if (sentBack === 0) return `${reviews(failed)} of this task failed.`;
  return `${reviews(sentBack)} of this task sent it back, ${failed} failed.`;
}

export function refuseBeyondLimit(rounds: Rounds, coderId: RunId): void {
  if (roundsLeft(rounds) > 0) return;
  throw new SquadError(
    'REVIEW_LIMIT_EXCEEDED',
    `Maximum review iterations (${rounds.max}) reached for agent ${coderId}`,
    {
      suggestions: [
        'Create pull request with current work',
        'Abandon this approach and try different solution',
        'Manually review and fix issues before requesting review',
      ],
      details: { current_iteration: rounds.current, max_iterations: rounds.max },
    },
  );
}
