import { randomUUID } from 'node:crypto';
import { asSquadError } from '../../schema/error.ts';
import type { EventBody } from '../../schema/event.ts';
import type { ReviewId, RunId } from '../../schema/ids.ts';
import { FeedbackType, type Intent, type Review } from '../../schema/review.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import type { Change } from '../ports/store.ts';
import { descendantsOf } from '../runs/descendants.ts';
import { nextStatus } from '../runs/run-state.ts';
import type { Deadlines } from '../runs/turn-limits.ts';
import { BRANCH_LOCK_TIMEOUT_MS, finishFeedback } from './give-feedback.ts';
import { ALL_REVIEWS, eventOf, type ReviewPorts, runNow } from './ports.ts';
import { coderPrompt } from './prompts.ts';
import { takeBackRequest } from './request-review.ts';
import {
  type Closing,
  closing,
  closingOfEnded,
  describeFailedRounds,
  mustAbandon,
  type Refusal,
  roundsOf,
  wasUnsuccessful,
} from './rounds.ts';

/** Gives a task up: whoever is at work on it is stopped. Their work trees go when they have ended, their branches stay. */
export async function abandonLineage(lineageId: RunId, why: string, ports: ReviewPorts): Promise<void> {
  const { store, clock } = ports;
  const intent: AbandonIntent = { id: randomUUID(), kind: 'abandon', at: clock.now(), lineageId, why };
  const closed: Change[] = [];
  for (const review of await store.reviews({ lineageId, limit: ALL_REVIEWS })) {
    const coder = review.outcome === null ? await runNow(ports, review.coderId) : null;
    if (coder) closed.push(closing(review, { outcome: 'cancelled', reason: why }, coder, clock));
  }
  // Both at once: a coder whose review is over goes on, unless it is known that it is not to.
  await store.commit({
    intents: [intent],
    reviews: closed.flatMap(({ reviews = [] }) => reviews),
    events: closed.flatMap(({ events }) => events),
  });
  ports.checkpoint('abandon:1');
  await finishAbandoning(intent, ports);
}

type AbandonIntent = Extract<Intent, { kind: 'abandon' }>;

/** Once everybody was told to stop, that is on disk for each of them. Done twice it does nothing more. */
async function finishAbandoning(
  { id: intentId, lineageId, why }: AbandonIntent,
  { store, runner, checkpoint, clock }: ReviewPorts,
): Promise<void> {
  const live = runner.liveRuns().filter(run => run.lineageId === lineageId && !isEnd(run.status));
  for (const { id, reviewOf, worktree } of live) {
    if (reviewOf === null) runner.note(id, `Given up: ${why}${worktree ? ` ${whereItIs(worktree)}` : ''}`);
    await runner.stop(id, reviewOf === null ? 'abandon' : 'terminate');
    for (const child of await descendantsOf(store, id))
      if (child.lineageId !== lineageId) await runner.stop(child.id, 'cancel');
    checkpoint('abandon:2');
  }
  const undecided = (await store.runs({ lineageId, limit: ALL_REVIEWS })).filter(isAtReviewLimit);
  const given = undecided.map(run => givenUp(run, why));
  const events = given.map(run => eventOf(clock, run, endOf(run)));
  await store.commit({ runs: given, intentsDone: [intentId], events });
}

/** A coder that completed at the limit of its reviews waits for a decision, and this is one. */
const givenUp = (run: Run, why: string): Run => ({
  ...run,
  status: nextStatus(run.status, 'abandon'),
  error: null,
  notes: [...run.notes, `Given up: ${why}${run.worktree ? ` ${whereItIs(run.worktree)}` : ''}`],
});

const endOf = ({ status, usage, startedAt, endedAt }: Run): Extract<EventBody, { type: 'run.ended' }> => ({
  ...{ type: 'run.ended', status, exitCode: null, error: null, usage, leftovers: [] },
  durationMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
});

/** Whether anything was left to save is not known before its agent has ended. */
const whereItIs = (worktree: Worktree): string =>
  `Its work is on branch ${worktree.branch}; what was not committed, if anything, is saved as ${savedRefOf(worktree)}.`;

/** Goes on with what was begun for a task and has not come to its end. Returns the reviews whose feedback still has to wait. */
async function resumeUnfinished(lineageId: RunId, ports: ReviewPorts): Promise<Set<ReviewId>> {
  const waiting = new Set<ReviewId>();
  for (const intent of await ports.store.intents()) {
    if (intent.kind === 'abandon' && intent.lineageId === lineageId) await finishAbandoning(intent, ports);
    if (intent.kind !== 'send_feedback' || (await lineageOf(intent, ports)) !== lineageId) continue;
    if (!(await finishFeedback(intent, ports))) waiting.add(intent.reviewId);
  }
  return waiting;
}

/** Tasks for which something was begun. */
export async function unfinishedLineages(ports: ReviewPorts): Promise<RunId[]> {
  const lineages: RunId[] = [];
  for (const intent of await ports.store.intents()) {
    if (intent.kind === 'abandon') lineages.push(intent.lineageId);
    const lineageId = intent.kind === 'send_feedback' ? await lineageOf(intent, ports) : null;
    if (lineageId) lineages.push(lineageId);
  }
  return lineages;
}

const lineageOf = async (
  { reviewId }: Extract<Intent, { kind: 'send_feedback' }>,
  { store }: ReviewPorts,
): Promise<RunId | null> => (await store.review(reviewId))?.lineageId ?? null;

/** How long a reviewer that has given its feedback is left to hear that it arrived. */
const LEAVE_MS = 2_000;

/** However late it is, never at once: what cannot be settled must not be tried without end. */
const MIN_DELAY_MS = 1_000;

/** How soon words are tried to be given again that another git was in the way of. */
const AGAIN_MS = 5_000;

/**
 * Brings a task to where its rows say it should be: reviews that nobody can end any more are closed, reviewers that are done
 * are stopped, the coder goes on. Done twice it does nothing. Returns in how many milliseconds to look again; null: when something
 * happens.
 */
export async function closeLineage(
  lineageId: RunId,
  ports: ReviewPorts,
  deadlines: Deadlines<string>,
): Promise<number | null> {
  const onTheirWay = await resumeUnfinished(lineageId, ports);
  const reviews = await ports.store.reviews({ lineageId, limit: ALL_REVIEWS });
  const times: number[] = [];
  for (const [i, review] of reviews.entries()) {
    const isOpen = review.outcome === null;
    const timeLeft = () => deadlines.left(review.id, { from: review.requestedAt, until: review.deadlineAt });
    if (onTheirWay.has(review.id) && timeLeft() > 0) {
      times.push(Math.min(timeLeft(), AGAIN_MS));
      continue;
    }
    if (isOpen) reviews[i] = await closeIfOver(review, ports, timeLeft());
    if (reviews[i]!.outcome === null) times.push(Math.max(timeLeft(), MIN_DELAY_MS));
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
  const calls = await store.events({ runId: id, types: ['tool.called'], limit: MAX_CALLS, reverse: true });
  for (const { body } of calls)
    if (body.type === 'tool.called' && ENDS_A_REVIEW.includes(body.tool))
      return body.ok ? null : { tool: body.tool, code: body.code };
  return null;
}

const MAX_CALLS = 200;
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
  if (wasUnsuccessful(last) && mustAbandon(rounds))
    return abandonLineage(coder.lineageId, describeFailedRounds(rounds), ports);
  const told = { ...last, toldInTurn: coder.turn + 1 };
  await runner.resume(coder.id, coderPrompt(last, rounds), { reviews: [told], events: [] }).catch(thrown => {
    // It ended a moment ago, and with it the need to tell it.
    if (asSquadError(thrown).code !== 'REVIEW_OVER') throw thrown;
  });
}

/** Finishes or takes back what an earlier hub was in the middle of. One that cannot be must not keep the others from it. */
export async function finishIntents(ports: ReviewPorts): Promise<void> {
  for (const intent of await ports.store.intents())
    await finish(intent, ports).catch(thrown =>
      ports.warn(`What was under way (${intent.kind}) could not be brought to its end`, thrown),
    );
}

/** Nobody is served meanwhile: what another git is in the way of is left for later, or as it is. */
async function finish(intent: Intent, ports: ReviewPorts): Promise<void> {
  switch (intent.kind) {
    case 'request_review':
      return takeBackRequest(intent, ports, BRANCH_LOCK_TIMEOUT_MS);
    case 'send_feedback':
      await finishFeedback(intent, ports);
      return;
    case 'abandon':
      // Runs are to be stopped, and none has been taken in yet.
      return;
    case 'create_pull_request':
      // Its host has to be asked: proposals see to it themselves.
      return;
  }
}

/** As far back as it is worth looking. */
const MAX = { runs: 1_000, events: 10_000 };

/** Runs whose work trees were to be removed at their end, and nobody has tried yet. */
export async function leftoverWorktrees({ store }: ReviewPorts): Promise<Run[]> {
  const runs = await store.runs({ hasWorktree: true, limit: MAX.runs });
  const done = runs.filter(run => isEnd(run.status) && (run.reviewOf !== null || run.status === 'abandoned'));
  if (done.length === 0) return [];
  const tried = await store.events({
    types: ['worktree.removed', 'worktree.kept'],
    limit: MAX.events,
    reverse: true,
  });
  const seen = new Set(tried.map(({ runId }) => runId));
  return done.filter(({ id }) => !seen.has(id));
}
