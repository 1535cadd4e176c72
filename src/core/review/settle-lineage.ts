import { asSquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { FeedbackType, type Review } from '../../schema/review.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { Deadlines } from '../runs/deadlines.ts';
import { descendantsOf } from '../runs/descendants.ts';
import { abandonLineage } from './abandon-lineage.ts';
import { type Closing, closing, closingOfEnded, type Refusal } from './close-review.ts';
import { coderPrompt } from './coder-prompt.ts';
import { finishLeft } from './finish-left.ts';
import { inVainWords, mustAbandon, roundsOf, wasInVain } from './lineage-rounds.ts';
import { EVERY_REVIEW, type ReviewPorts, runNow } from './ports.ts';

/** How long a reviewer that has given its feedback is left to hear that it arrived. */
const LEAVE_MS = 2_000;

/** However late it is, never at once: what cannot be settled must not be tried without end. */
const SOON_MS = 1_000;

/** How soon words are tried to be given again that another git was in the way of. */
const AGAIN_MS = 5_000;

/**
 * Brings a task to where its rows say it should be: reviews that nobody can end any more are closed, reviewers that are done
 * are stopped, the coder goes on. Done twice it does nothing. Returns in how many milliseconds to look again; null: when something
 * happens.
 */
export async function settleLineage(
  lineageId: RunId,
  ports: ReviewPorts,
  deadlines: Deadlines<string>,
): Promise<number | null> {
  const onTheirWay = await finishLeft(lineageId, ports);
  const reviews = await ports.store.reviews({ lineageId, limit: EVERY_REVIEW });
  const times: number[] = [];
  for (const [i, review] of reviews.entries()) {
    const isOpen = review.outcome === null;
    const timeLeft = () => deadlines.left(review.id, { from: review.requestedAt, until: review.deadlineAt });
    if (onTheirWay.has(review.id) && timeLeft() > 0) {
      times.push(Math.min(timeLeft(), AGAIN_MS));
      continue;
    }
    if (isOpen) reviews[i] = await closeIfOver(review, ports, timeLeft());
    if (reviews[i]!.outcome === null) times.push(Math.max(timeLeft(), SOON_MS));
    else {
      deadlines.forget(review.id);
      times.push(...(await letGo(reviews[i]!, ports, deadlines)));
    }
  }
  for (const coder of ports.runner.liveRuns())
    if (coder.lineageId === lineageId && coder.status === 'waiting_review') await goOn(coder, reviews, ports);
  return times.length > 0 ? Math.min(...times) : null;
}

async function closeIfOver(review: Review, ports: ReviewPorts, timeLeft: number): Promise<Review> {
  const { store, clock, checkpoint } = ports;
  const [coder, reviewer] = await Promise.all([
    runNow(ports, review.coderId),
    runNow(ports, review.reviewerId),
  ]);
  const refused = reviewer?.status === 'completed' ? await lastRefusal(reviewer, store) : null;
  const how = howItIsOver(coder, reviewer, { timeLeft, refused });
  if (how === null || !coder) return review;
  const change = closing(review, how, coder, clock);
  await store.commit(change);
  checkpoint('close_review:1');
  return change.reviews![0]!;
}

function howItIsOver(
  coder: Run | null,
  reviewer: Run | null,
  { timeLeft, refused }: { timeLeft: number; refused: Refusal | null },
): Closing | null {
  if (coder && isEnd(coder.status))
    return {
      outcome: 'cancelled',
      reason: `Run ${coder.id} was ${coder.status} before the review was over.`,
    };
  if (!reviewer || isEnd(reviewer.status)) return closingOfEnded(reviewer, refused);
  if (timeLeft > 0) return null;
  return { outcome: 'timeout', reason: 'It was not over in the time a review has (review.timeout_hours).' };
}

/** Why a reviewer that wanted to end its review could not, as far as its last such call tells. */
async function lastRefusal({ id }: Run, store: ReviewPorts['store']): Promise<Refusal | null> {
  const calls = await store.events({ runId: id, types: ['tool.called'], limit: MOST_CALLS, reverse: true });
  for (const { body } of calls)
    if (body.type === 'tool.called' && ENDS_A_REVIEW.includes(body.tool))
      return body.ok ? null : { tool: body.tool, code: body.code };
  return null;
}

const MOST_CALLS = 200;
const ENDS_A_REVIEW: readonly string[] = ['send_feedback', 'create_pull_request'];

/**
 * A reviewer has nothing left to do when its review is closed, and neither has what it started. Returns in how many milliseconds
 * they are to be stopped, if that is not now.
 */
async function letGo(
  { id: reviewId, reviewerId, outcome, closedAt }: Review,
  { runner, store }: ReviewPorts,
  deadlines: Deadlines<string>,
): Promise<number[]> {
  const isDelivered = outcome === 'pull_request' || FeedbackType.safeParse(outcome).success;
  const reviewer = runner.current(reviewerId);
  const isAtWork = reviewer !== null && !isEnd(reviewer.status);
  const leaving = `${reviewId} leaving`;
  if (isDelivered && isAtWork && closedAt !== null) {
    const left = deadlines.left(leaving, { from: closedAt, until: closedAt + LEAVE_MS });
    if (left > 0) return [left];
  }
  deadlines.forget(leaving);
  if (isAtWork) await runner.stop(reviewerId, 'terminate');
  for (const { id } of await descendantsOf(store, reviewerId))
    if (runner.current(id)) await runner.stop(id, 'cancel');
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
  if (wasInVain(last) && mustAbandon(rounds))
    return abandonLineage(coder.lineageId, inVainWords(rounds), ports);
  const told = { ...last, toldInTurn: coder.turn + 1 };
  await runner.resume(coder.id, coderPrompt(last, rounds), { reviews: [told], events: [] }).catch(thrown => {
    // It ended a moment ago, and with it the need to tell it.
    if (asSquadError(thrown).code !== 'REVIEW_OVER') throw thrown;
  });
}
