import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Review, ReviewOutcome } from '../../schema/review.ts';

/** How far a task has come with its reviews. */
export interface Rounds {
  /** The last one's number: every review counts, whatever became of it. */
  current: number;
  max: number;
  /** Reviews that asked for more work or came to nothing. */
  failed: number;
  abandonAfter: number;
}

const FAILED: readonly ReviewOutcome[] = ['needs_work', 'error', 'timeout', 'no_feedback'];

export const isFailed = (outcome: ReviewOutcome | null): boolean =>
  outcome !== null && FAILED.includes(outcome);

/** Counted per lineage, so that neither a retry nor a reply begins at nothing. */
export function roundsOf(reviews: readonly Review[], ownLimit: number | null, settings: HubSettings): Rounds {
  return {
    current: reviews.reduce((most, { iteration }) => Math.max(most, iteration), 0),
    max: ownLimit ?? settings['review.max_iterations'],
    failed: reviews.filter(({ outcome }) => isFailed(outcome)).length,
    abandonAfter: settings['review.auto_abandon_after'],
  };
}

export const roundsLeft = ({ current, max }: Rounds): number => Math.max(0, max - current);

export const mustAbandon = ({ failed, abandonAfter }: Rounds): boolean => failed >= abandonAfter;

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
