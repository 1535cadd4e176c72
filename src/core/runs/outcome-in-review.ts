import type { HubSettings } from '../../schema/config.ts';
import { FeedbackType } from '../../schema/review.ts';
import type { Run, RunError } from '../../schema/run.ts';
import { REVIEW_LIMIT } from '../../schema/shown-status.ts';
import { overBudget } from '../cost/budget.ts';
import type { Store } from '../ports/store.ts';
import { limitReached, roundsOf } from '../review/lineage-rounds.ts';
import type { LiveRun } from './live-run.ts';
import type { Outcome } from './outcome.ts';

/** Ends that the user or a limit of theirs brought about: they count whatever is being waited for. */
const WANTED: readonly Outcome['step'][] = ['cancel', 'abandon', 'terminate'];

/**
 * What the end of a turn means for a run that takes part in a review. Who waits for one goes on waiting, however its turn
 * ended, unless the review has ended with a pull request or the run has used up what it may. Who has given its feedback is done with it, whatever came after.
 */
export async function outcomeInReview(
  { run, stop, overBudget: spending }: LiveRun,
  outcome: Outcome,
  { store, settings }: ReviewFacts,
): Promise<Outcome | 'waits'> {
  if (WANTED.includes(outcome.step)) return outcome;
  if (run.status === 'waiting_review') {
    if (stop === 'budget' || stop === 'output_limit') return outcome;
    if (spending && (run.options.stopAtBudget || spending.scope !== 'run'))
      return { step: 'fail', error: { code: 'BUDGET_EXCEEDED', message: overBudget(spending) } };
    const last = (await store.reviews({ coderId: run.id, limit: MOST })).at(-1);
    return last?.outcome === 'pull_request' ? { step: 'complete', error: null } : 'waits';
  }
  if (run.reviewOf === null) {
    const error = outcome.step === 'complete' ? await leftUndecided(run, { store, settings }) : null;
    return error ? { ...outcome, error } : outcome;
  }
  const [review] = await store.reviews({ reviewerId: run.id, limit: 1 });
  return review && isDelivered(review.outcome) ? { step: 'terminate', error: null } : outcome;
}

interface ReviewFacts {
  store: Pick<Store, 'reviews' | 'reviewLimit' | 'events'>;
  settings(): HubSettings;
}

/** The error of a coder that completed with no review rounds left and no approval: a person has to decide. */
async function leftUndecided(run: Run, { store, settings }: ReviewFacts): Promise<RunError | null> {
  if (run.type !== 'coding') return null;
  const { id: runId, lineageId } = run;
  const reviews = await store.reviews({ lineageId, limit: MOST });
  if (reviews.length === 0) return null;
  const [proposed, calls] = await Promise.all([
    store.events({ runId, types: ['pull_request.opened'], limit: 1 }),
    store.events({ runId, types: ['tool.called'], limit: MOST, reverse: true }),
  ]);
  if (proposed.length > 0) return null;
  const rounds = roundsOf(reviews, await store.reviewLimit(lineageId), settings());
  const last = reviews.findLast(({ coderId }) => coderId === runId) ?? null;
  const wasRefused = calls.some(({ body }) => body.type === 'tool.called' && body.code === REVIEW_LIMIT);
  return limitReached(rounds, runId, { last, wasRefused });
}

const MOST = 1_000;

const isDelivered = (outcome: string | null): boolean =>
  outcome === 'pull_request' || FeedbackType.safeParse(outcome).success;
