import { FeedbackType } from '../schema/review.ts';
import { overBudget } from './budget.ts';
import type { LiveRun } from './live-run.ts';
import type { Outcome } from './outcome.ts';
import type { Store } from './ports/store.ts';

/** Ends that the user or a limit of theirs brought about: they count whatever is being waited for. */
const WANTED: readonly Outcome['step'][] = ['cancel', 'abandon', 'terminate'];

/**
 * What the end of a turn means for a run that takes part in a review. Who waits for one goes on waiting, however its turn
 * ended, unless the review has ended with a pull request or the run has used up what it may. Who has given its feedback is done with it, whatever came after.
 */
export async function outcomeInReview(
  { run, stop, overBudget: spending }: LiveRun,
  outcome: Outcome,
  store: Pick<Store, 'reviews'>,
): Promise<Outcome | 'waits'> {
  if (WANTED.includes(outcome.step)) return outcome;
  if (run.status === 'waiting_review') {
    if (stop === 'budget' || stop === 'output_limit') return outcome;
    if (spending && (run.options.stopAtBudget || spending.scope !== 'run'))
      return { step: 'fail', error: { code: 'BUDGET_EXCEEDED', message: overBudget(spending) } };
    const last = (await store.reviews({ coderId: run.id, limit: MOST })).at(-1);
    return last?.outcome === 'pull_request' ? { step: 'complete', error: null } : 'waits';
  }
  if (run.reviewOf === null) return outcome;
  const [review] = await store.reviews({ reviewerId: run.id, limit: 1 });
  return review && isDelivered(review.outcome) ? { step: 'terminate', error: null } : outcome;
}

const MOST = 1_000;

const isDelivered = (outcome: string | null): boolean =>
  outcome === 'pull_request' || FeedbackType.safeParse(outcome).success;
