import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Review, ReviewOutcome } from '../../schema/review.ts';
import type { Run, RunError } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { REVIEW_LIMIT } from '../../schema/shown-status.ts';
import type { PullRequest } from '../ports/git-host.ts';
import type { Change } from '../ports/store.ts';
import { eventOf, type ReviewPorts, runNow } from './ports.ts';

/** The review rounds of a task, and their limits. */
export const Rounds = z.object({
  /** Number of the last round: every review counts, whatever its outcome. */
  current: z.number(),
  max: z.number(),
  /** Number of reviews that asked for more work. */
  sentBack: z.number(),
  /** Number of reviews without a result. */
  failed: z.number(),
  /** The task is abandoned after this many reviews that asked for more work or had no result. */
  abandonAfter: z.number(),
});
export type Rounds = z.infer<typeof Rounds>;

const FAILED: readonly ReviewOutcome[] = ['error', 'timeout', 'no_feedback'];

const isSentBack = ({ outcome }: Pick<Review, 'outcome'>): boolean => outcome === 'needs_work';
const isFailed = ({ outcome }: Pick<Review, 'outcome'>): boolean =>
  outcome !== null && FAILED.includes(outcome);

/** Whether the review did not bring the task forward. */
export const wasUnsuccessful = (review: Pick<Review, 'outcome'>): boolean =>
  isSentBack(review) || isFailed(review);

/**
 * Counts the review rounds of a lineage. Retries and replies belong to the same lineage, so they do not start again
 * at zero.
 */
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

/** Text that says why the task is abandoned. */
export function describeFailedRounds({ sentBack, failed }: Pick<Rounds, 'sentBack' | 'failed'>): string {
  const reviews = (count: number) => (count === 1 ? '1 review' : `${count} reviews`);
  if (failed === 0) return `${reviews(sentBack)} of this task sent it back.`;
  if (sentBack === 0) return `${reviews(failed)} of this task failed.`;
  return `${reviews(sentBack)} of this task sent it back, ${failed} failed.`;
}

export function refuseBeyondLimit(rounds: Rounds, coderId: RunId): void {
  if (roundsLeft(rounds) > 0) return;
  throw new SquadError(
    REVIEW_LIMIT,
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

/** Outcomes that leave the work unapproved. */
const OPEN_ENDED: readonly ReviewOutcome[] = ['needs_work', 'suggestions', 'clarification', ...FAILED];

/**
 * The error of a coder that completed without approval when its task had no reviews left. Null if there is nothing to
 * decide. `last` is the coder's own last review. `wasRefused` means that the coder asked for one more.
 */
export function limitReached(
  rounds: Rounds,
  coderId: RunId,
  { last, wasRefused }: { last: Pick<Review, 'outcome'> | null; wasRefused: boolean },
): RunError | null {
  const outcome = last?.outcome ?? null;
  const isOpen = outcome !== null && OPEN_ENDED.includes(outcome);
  if (roundsLeft(rounds) > 0 || !(isOpen || wasRefused)) return null;
  const verdict = outcome === null ? '' : `, and the last one ended with ${outcome}`;
  return {
    code: REVIEW_LIMIT,
    message: [
      `Maximum review iterations (${rounds.max}) reached${verdict}. Decide what to do:`,
      `create a pull request with the current work, or merge it (squad integrate ${shellWord(coderId)});`,
      `abandon this approach and try a different solution (squad review ${shellWord(coderId)} --abandon);`,
      `or review the work yourself (squad review ${shellWord(coderId)} --diff) and have it fixed`,
      `(squad review ${shellWord(coderId)} --allow 2, then squad reply ${shellWord(coderId)} "…").`,
    ].join(' '),
  };
}

export type Closing = { outcome: ReviewOutcome } & Partial<
  Pick<Review, 'reason' | 'feedback' | 'feedbackBy' | 'priority' | 'actionableItems' | 'feedbackCommit'>
>;

/** The rows and the event that close a review. */
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

/** A failed call of a tool that ends a review. */
export interface Refusal {
  tool: string;
  code: string | null;
}

const refusalText = (refused: Refusal | null): string =>
  refused ? ` Its ${refused.tool} was refused${refused.code === null ? '' : ` (${refused.code})`}.` : '';

/** How to close a review whose reviewer ended without closing it. */
export function closingOfEnded(reviewer: Run | null, refused: Refusal | null = null): Closing {
  if (!reviewer) return { outcome: 'error', reason: 'The reviewer is unknown: its run was removed.' };
  const { status, error } = reviewer;
  const reason = error ? `${error.code}: ${error.message}` : null;
  if (status === 'timeout')
    return { outcome: 'timeout', reason: reason ?? 'The reviewer reached its time limit.' };
  if (status === 'completed')
    return {
      outcome: 'no_feedback',
      reason: `The reviewer ended without feedback or a pull request.${refusalText(refused)}`,
    };
  if (status === 'error' || status === 'lost') return { outcome: 'error', reason };
  return { outcome: 'cancelled', reason: `The reviewer was ${status}.` };
}

/** Records an open pull request. A reviewer's pull request ends its review. */
export async function pullRequestOpened(
  run: Run,
  pr: PullRequest & { branch: string },
  intentsDone: string[],
  ports: Pick<ReviewPorts, 'clock' | 'store' | 'checkpoint'> & {
    runner: Pick<ReviewPorts['runner'], 'current'>;
  },
): Promise<void> {
  const { store, clock } = ports;
  const coder = (run.reviewOf && (await runNow(ports, run.reviewOf))) ?? run;
  const [review] = await store.reviews({ reviewerId: run.id, isOpen: true, limit: 1 });
  const how = { outcome: 'pull_request', reason: pr.url } as const;
  const over = review ? closing(review, how, coder, clock) : { events: [] };
  const opened = eventOf(clock, coder, { type: 'pull_request.opened', ...pr });
  await store.commit({ ...over, intentsDone, events: [opened, ...over.events] });
  ports.checkpoint('create_pull_request:5');
}
