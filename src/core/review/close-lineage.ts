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
import { undoRequest } from './request-review.ts';
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

/** Abandons a task: stops its runs. Their work trees are removed when they have ended; their branches stay. */
export async function abandonLineage(lineageId: RunId, why: string, ports: ReviewPorts): Promise<void> {
  const { store, clock } = ports;
  const intent: AbandonIntent = { id: randomUUID(), kind: 'abandon', at: clock.now(), lineageId, why };
  const closed: Change[] = [];
  for (const review of await store.reviews({ lineageId, limit: ALL_REVIEWS })) {
    const coder = review.outcome === null ? await runNow(ports, review.coderId) : null;
    if (coder) closed.push(closing(review, { outcome: 'cancelled', reason: why }, coder, clock));
  }
  // Intent and reviews are written in one commit. A coder whose review is closed would continue without the intent.
  await store.commit({
    intents: [intent],
    reviews: closed.flatMap(({ reviews = [] }) => reviews),
    events: closed.flatMap(({ events }) => events),
  });
  ports.checkpoint('abandon:1');
  await finishAbandon(intent, ports);
}

type AbandonIntent = Extract<Intent, { kind: 'abandon' }>;

/** Records every stop on disk. Safe to repeat. */
async function finishAbandon(
  { id: intentId, lineageId, why }: AbandonIntent,
  { store, runner, checkpoint, clock }: ReviewPorts,
): Promise<void> {
  const live = runner.liveRuns().filter(run => run.lineageId === lineageId && !isEnd(run.status));
  for (const { id, reviewOf, worktree } of live) {
    if (reviewOf === null)
      runner.note(id, `Abandoned: ${why}${worktree ? ` ${workLocation(worktree)}` : ''}`);
    await runner.stop(id, reviewOf === null ? 'abandon' : 'terminate');
    for (const child of await descendantsOf(store, id))
      if (child.lineageId !== lineageId) await runner.stop(child.id, 'cancel');
    checkpoint('abandon:2');
  }
  const undecided = (await store.runs({ lineageId, limit: ALL_REVIEWS })).filter(isAtReviewLimit);
  const abandoned = undecided.map(run => abandonedRun(run, why));
  const events = abandoned.map(run => eventOf(clock, run, endOf(run)));
  await store.commit({ runs: abandoned, intentsDone: [intentId], events });
}

/** A coder that completed at its review limit waits for a decision; abandoning the task is that decision. */
const abandonedRun = (run: Run, why: string): Run => ({
  ...run,
  status: nextStatus(run.status, 'abandon'),
  error: null,
  notes: [...run.notes, `Abandoned: ${why}${run.worktree ? ` ${workLocation(run.worktree)}` : ''}`],
});

const endOf = ({ status, usage, startedAt, endedAt }: Run): Extract<EventBody, { type: 'run.ended' }> => ({
  ...{ type: 'run.ended', status, exitCode: null, error: null, usage, leftovers: [] },
  durationMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
});

/**
 * Says where the work of an abandoned run is. Uncommitted work is mentioned with "if anything", because Squad checks
 * for it only later.
 */
const workLocation = (worktree: Worktree): string =>
  `Its work is on branch ${worktree.branch}; what was not committed, if anything, is saved as ${savedRefOf(worktree)}.`;

/** Continues the unfinished intents of a task. Returns the reviews whose feedback still has to wait. */
async function resumeUnfinished(lineageId: RunId, ports: ReviewPorts): Promise<Set<ReviewId>> {
  const waiting = new Set<ReviewId>();
  for (const intent of await ports.store.intents()) {
    if (intent.kind === 'abandon' && intent.lineageId === lineageId) await finishAbandon(intent, ports);
    if (intent.kind !== 'send_feedback' || (await lineageOf(intent, ports)) !== lineageId) continue;
    if (!(await finishFeedback(intent, ports))) waiting.add(intent.reviewId);
  }
  return waiting;
}

/** Ids of tasks with an unfinished intent. */
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

/** Delay that lets a reviewer get the result of its last call before it is stopped. */
const REVIEWER_EXIT_DELAY_MS = 2_000;

/** Minimum delay, even for something overdue: a review that cannot be closed must not be retried in a loop. */
const MIN_DELAY_MS = 1_000;

/** Delay before retrying feedback that another git process blocked. */
const FEEDBACK_RETRY_MS = 5_000;

/**
 * Brings a task to the state that its rows require: closes reviews that nobody can end any more, stops reviewers that
 * are done, and lets the coder continue. Safe to repeat. Returns the milliseconds until the next check, or null if the
 * next event triggers it.
 */
export async function closeLineage(
  lineageId: RunId,
  ports: ReviewPorts,
  deadlines: Deadlines<string>,
): Promise<number | null> {
  const pendingFeedback = await resumeUnfinished(lineageId, ports);
  const reviews = await ports.store.reviews({ lineageId, limit: ALL_REVIEWS });
  const times: number[] = [];
  for (const [i, review] of reviews.entries()) {
    const isOpen = review.outcome === null;
    const timeLeft = () => deadlines.left(review.id, { from: review.requestedAt, until: review.deadlineAt });
    if (pendingFeedback.has(review.id) && timeLeft() > 0) {
      times.push(Math.min(timeLeft(), FEEDBACK_RETRY_MS));
      continue;
    }
    if (isOpen) reviews[i] = await closeIfOver(review, ports, timeLeft());
    if (reviews[i]!.outcome === null) times.push(Math.max(timeLeft(), MIN_DELAY_MS));
    else {
      deadlines.forget(review.id);
      times.push(...(await stopReviewer(reviews[i]!, ports, deadlines)));
    }
  }
  for (const coder of ports.runner.liveRuns())
    if (coder.lineageId === lineageId && coder.status === 'waiting_review')
      await continueCoder(coder, reviews, ports);
  return times.length > 0 ? Math.min(...times) : null;
}

async function closeIfOver(review: Review, ports: ReviewPorts, timeLeft: number): Promise<Review> {
  const { store, clock, checkpoint } = ports;
  const [coder, reviewer] = await Promise.all([
    runNow(ports, review.coderId),
    runNow(ports, review.reviewerId),
  ]);
  const refused = reviewer?.status === 'completed' ? await lastRefusal(reviewer, store) : null;
  const how = closingOf(coder, reviewer, { timeLeft, refused });
  if (how === null || !coder) return review;
  const change = closing(review, how, coder, clock);
  await store.commit(change);
  checkpoint('close_review:1');
  return change.reviews![0]!;
}

function closingOf(
  coder: Run | null,
  reviewer: Run | null,
  { timeLeft, refused }: { timeLeft: number; refused: Refusal | null },
): Closing | null {
  if (coder && isEnd(coder.status))
    return {
      outcome: 'cancelled',
      reason: `Run ${coder.id} was ${coder.status} before the review ended.`,
    };
  if (!reviewer || isEnd(reviewer.status)) return closingOfEnded(reviewer, refused);
  if (timeLeft > 0) return null;
  return { outcome: 'timeout', reason: 'The review reached its time limit (review.timeout_hours).' };
}

/** The reviewer's last call that should have ended the review but failed. */
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
 * Stops the reviewer of a closed review and everything it started. Returns the milliseconds until that is possible, if
 * not now.
 */
async function stopReviewer(
  { id: reviewId, reviewerId, outcome, closedAt }: Review,
  { runner, store }: ReviewPorts,
  deadlines: Deadlines<string>,
): Promise<number[]> {
  const isDelivered = outcome === 'pull_request' || FeedbackType.safeParse(outcome).success;
  const reviewer = runner.current(reviewerId);
  const isRunning = reviewer !== null && !isEnd(reviewer.status);
  const leaving = `${reviewId} leaving`;
  if (isDelivered && isRunning && closedAt !== null) {
    const left = deadlines.left(leaving, { from: closedAt, until: closedAt + REVIEWER_EXIT_DELAY_MS });
    if (left > 0) return [left];
  }
  deadlines.forget(leaving);
  if (isRunning) await runner.stop(reviewerId, 'terminate');
  for (const { id } of await descendantsOf(store, reviewerId))
    if (runner.current(id)) await runner.stop(id, 'cancel');
  return [];
}

/**
 * Starts the coder's next turn with the result of its last review, or completes the coder. Does nothing while its turn
 * is running.
 */
async function continueCoder(coder: Run, reviews: Review[], ports: ReviewPorts): Promise<void> {
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
    // The coder ended in the meantime, so it needs no next turn.
    if (asSquadError(thrown).code !== 'REVIEW_OVER') throw thrown;
  });
}

/**
 * Finishes or undoes interrupted work of an earlier hub. A failure does not affect the other intents. The hub serves
 * nobody during this: work that another git process blocks is left for later. Abandoned tasks are left out, because
 * their runs are not known yet; pull requests are handled by `Proposals.recover`, which asks the Git host.
 */
export async function finishIntents(ports: ReviewPorts, of: readonly string[] | null): Promise<void> {
  for (const intent of await ports.store.intents())
    try {
      if (of?.includes(intent.id) === false) continue;
      if (intent.kind === 'request_review') await undoRequest(intent, ports, BRANCH_LOCK_TIMEOUT_MS);
      if (intent.kind === 'send_feedback') await finishFeedback(intent, ports);
    } catch (thrown) {
      ports.warn(`An interrupted ${intent.kind} could not be finished`, thrown);
    }
}

const MAX = { runs: 1_000, events: 10_000 };

/** Ended runs whose work tree should be removed but was not tried yet. */
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
