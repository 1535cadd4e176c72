import { asSquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { FeedbackType, type Review } from '../../schema/review.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { abandonLineage } from './abandon-lineage.ts';
import { type Closing, closing, closingOfEnded } from './close-review.ts';
import { coderPrompt } from './coder-prompt.ts';
import { isFailed, mustAbandon, roundsOf } from './lineage-rounds.ts';
import { EVERY_REVIEW, type ReviewPorts, runNow } from './ports.ts';

/** How long a reviewer that has given its feedback is left to hear that it arrived. */
const LEAVE_MS = 2_000;

/** However late it is, never at once: what cannot be settled must not be tried without end. */
const SOON_MS = 1_000;

/**
 * Brings a task to where its rows say it should be: reviews that nobody can end any more are closed, reviewers that are done
 * are stopped, the coder goes on. Done twice it does nothing. Returns when to look again; null: when something happens.
 */
export async function settleLineage(lineageId: RunId, ports: ReviewPorts): Promise<number | null> {
  const reviews = await ports.store.reviews({ lineageId, limit: EVERY_REVIEW });
  const times: number[] = [];
  for (const [i, review] of reviews.entries()) {
    reviews[i] = await closeIfOver(review, ports);
    if (reviews[i].outcome === null) times.push(Math.max(review.deadlineAt, ports.clock.now() + SOON_MS));
    else times.push(...(await letGo(reviews[i], ports)));
  }
  for (const coder of ports.runner.liveRuns())
    if (coder.lineageId === lineageId && coder.status === 'waiting_review') await goOn(coder, reviews, ports);
  return times.length > 0 ? Math.min(...times) : null;
}

async function closeIfOver(review: Review, ports: ReviewPorts): Promise<Review> {
  const { store, clock, checkpoint } = ports;
  if (review.outcome !== null) return review;
  const [coder, reviewer] = await Promise.all([
    runNow(ports, review.coderId),
    runNow(ports, review.reviewerId),
  ]);
  const how = howItIsOver(review, coder, reviewer, clock.now());
  if (how === null || !coder) return review;
  const change = closing(review, how, coder, clock);
  await store.commit(change);
  checkpoint('close_review:1');
  return change.reviews![0]!;
}

function howItIsOver(review: Review, coder: Run | null, reviewer: Run | null, now: number): Closing | null {
  if (coder && isEnd(coder.status))
    return {
      outcome: 'cancelled',
      reason: `Run ${coder.id} was ${coder.status} before the review was over.`,
    };
  if (!reviewer || isEnd(reviewer.status)) return closingOfEnded(reviewer);
  if (now < review.deadlineAt) return null;
  return { outcome: 'timeout', reason: 'It was not over in the time a review has (review.timeout_hours).' };
}

/** A reviewer has nothing left to do when its review is closed. Returns when it is to be stopped, if that is not now. */
async function letGo(
  { reviewerId, outcome, closedAt }: Review,
  { runner, clock }: ReviewPorts,
): Promise<number[]> {
  const reviewer = runner.current(reviewerId);
  if (!reviewer || isEnd(reviewer.status)) return [];
  const isDelivered = outcome === 'pull_request' || FeedbackType.safeParse(outcome).success;
  const stopAt = isDelivered ? (closedAt ?? 0) + LEAVE_MS : 0;
  if (clock.now() < stopAt) return [stopAt];
  await runner.stop(reviewerId, 'terminate');
  return [];
}

/** The coder is told what came of its last review, or is done. While its turn is still at work that waits for its end. */
async function goOn(coder: Run, reviews: Review[], ports: ReviewPorts): Promise<void> {
  const { store, settings, runner } = ports;
  const last = reviews.findLast(({ coderId }) => coderId === coder.id);
  if (!last || last.outcome === null || last.toldInTurn !== null) return;
  if (last.outcome === 'pull_request') {
    await runner.endWaiting(coder.id, 'complete', { events: [] });
    return;
  }
  const rounds = roundsOf(reviews, await store.reviewLimit(coder.lineageId), settings());
  if (isFailed(last.outcome) && mustAbandon(rounds))
    return abandonLineage(coder.lineageId, `${rounds.failed} reviews of this task have failed.`, ports);
  const told = { ...last, toldInTurn: coder.turn + 1 };
  await runner.resume(coder.id, coderPrompt(last, rounds), { reviews: [told], events: [] }).catch(thrown => {
    // It ended a moment ago, and with it the need to tell it.
    if (asSquadError(thrown).code !== 'REVIEW_OVER') throw thrown;
  });
}
