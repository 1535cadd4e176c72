import { Alarms } from '../../base/clock.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Review } from '../../schema/review.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { PullRequest } from '../ports/git-host.ts';
import { Deadlines } from '../runs/turn-limits.ts';
import { removalEvent } from '../worktrees/removal.ts';
import {
  abandonLineage,
  closeLineage,
  finishIntents,
  leftoverWorktrees,
  unfinishedLineages,
} from './close-lineage.ts';
import { giveFeedback } from './give-feedback.ts';
import { ALL_REVIEWS, eventOf, type ReviewPorts } from './ports.ts';
import { pullRequestOpened } from './pull-request-opened.ts';
import { type RequestedReview, requestReview } from './request-review.ts';
import { checkFeedback, checkReviewAsk, type Feedback, type ReviewAsk } from './review-input.ts';
import { closing, type Rounds, roundsOf } from './rounds.ts';

/**
 * Takes away the work tree of a run that is done with it, as far as that can be done without losing anything, and tells. False:
 * another run is at work in it.
 */
async function clearWorktree(run: Run, ports: ReviewPorts): Promise<boolean> {
  const { worktree } = run;
  if (!worktree) return true;
  const { clock, store, worktrees, runner } = ports;
  const isItsPlace = (other: Run) => other.worktree?.path === worktree.path && !isEnd(other.status);
  if (runner.liveRuns().some(isItsPlace)) return false;
  // Only a reviewer's branch is nobody's: what a coder has done is for people to decide on.
  const removal = await worktrees.remove(worktree, { dropEmptyBranch: run.reviewOf !== null });
  await store.commit({ events: [eventOf(clock, run, removalEvent(worktree, removal))] });
  return true;
}

/** How soon what went wrong is tried again; longer each time, up to the second. */
const RETRY_MS = { first: 5_000, most: 600_000 };

/** From "review this" to the coder's next turn. One thing at a time is done for a task, and what is done is on disk. */
export class ReviewLoop {
  private readonly ports: ReviewPorts;
  private readonly queue = new KeyedQueue<RunId>();
  private readonly alarms: Alarms<RunId>;
  private readonly deadlines: Deadlines<string>;
  private readonly failures = new Map<RunId, number>();
  /** Runs whose work tree goes as soon as nobody else is at work in it. */
  private readonly uncleared = new Map<string, Run>();
  /** Tasks to see to once everything an earlier hub left behind was looked at; null from then on. */
  private held: Set<RunId> | null = new Set();
  private isClosed = false;

  constructor(ports: ReviewPorts) {
    this.ports = ports;
    this.alarms = new Alarms(ports.clock, lineageId => this.settle(lineageId));
    this.deadlines = new Deadlines(ports.clock);
  }

  /** Throws REVIEW_OPEN, REVIEW_LIMIT_EXCEEDED, WORKTREE_NEEDED, WORKTREE_MISSING, NOTHING_TO_PROPOSE, and what planning a run can. */
  async request(coder: Run, ask: ReviewAsk): Promise<RequestedReview> {
    checkReviewAsk(ask);
    return this.change(coder.lineageId, () =>
      requestReview(this.ports.runner.current(coder.id) ?? coder, ask, this.ports),
    );
  }

  /** Throws REVIEW_OVER, FEEDBACK_FAILED. The reviewer is stopped a moment later, when it has heard that it arrived. */
  async feedback(reviewer: Run, feedback: Feedback): Promise<Review> {
    checkFeedback(feedback);
    return this.endedBy(reviewer, review => giveFeedback(review, feedback, 'reviewer', this.ports));
  }

  /** A person's words instead of the reviewer's, who is stopped. */
  async answer(coder: Run, feedback: Feedback): Promise<Review> {
    checkFeedback(feedback);
    return this.change(coder.lineageId, async () => {
      const review = await giveFeedback(await this.openReviewOf(coder), feedback, 'user', this.ports);
      await this.ports.runner.stop(review.reviewerId, 'terminate');
      return review;
    });
  }

  /** Ends the review that is under way. The coder is told, and goes on. */
  cancel(coder: Run, reason: string): Promise<Review> {
    const { store, clock } = this.ports;
    return this.change(coder.lineageId, async () => {
      const change = closing(await this.openReviewOf(coder), { outcome: 'cancelled', reason }, coder, clock);
      await store.commit(change);
      return change.reviews![0]!;
    });
  }

  /** So many more rounds than it has had, or than it may have, whichever is more. */
  allow({ id, squadId, lineageId }: Run, more: number): Promise<Rounds> {
    const { store, clock } = this.ports;
    return this.change(lineageId, async () => {
      const rounds = await this.rounds(lineageId);
      const limit = Math.max(rounds.current, rounds.max) + more;
      const told = eventOf(clock, { id, squadId }, { type: 'review.limit_changed', lineageId, limit });
      await store.commit({ reviewLimits: [{ lineageId, limit }], events: [told] });
      return this.rounds(lineageId);
    });
  }

  /** Gives the task up. Settles when everybody at work on it was told to stop. */
  async abandon({ lineageId, status }: Run, why: string): Promise<void> {
    await this.change(lineageId, () => abandonLineage(lineageId, why, this.ports));
    // Otherwise the end of the run does that.
    if (isEnd(status)) this.clear(null, lineageId);
  }

  /** A pull request is there. A reviewer's ends the loop, a coder's is only written down. */
  openedPullRequest(
    run: Run,
    pr: PullRequest & { branch: string },
    intentsDone: string[] = [],
  ): Promise<void> {
    return this.change(run.lineageId, () => pullRequestOpened(run, pr, intentsDone, this.ports));
  }

  /**
   * What a reviewer ends its review with. Nothing else is done for the task meanwhile, so that of two ways to end it one
   * comes second. Throws REVIEW_OVER and NOT_ALLOWED.
   */
  endedBy<T>(reviewer: Run, act: (review: Review) => Promise<T>): Promise<T> {
    return this.change(reviewer.lineageId, async () => act(await this.reviewBy(reviewer)));
  }

  /** The review this run is the reviewer of, while it is open. Throws REVIEW_OVER and NOT_ALLOWED. */
  async reviewBy({ id, reviewOf }: Run): Promise<Review> {
    const [review] = await this.ports.store.reviews({ reviewerId: id, limit: 1 });
    if (!review || reviewOf === null)
      throw new SquadError(
        'NOT_ALLOWED',
        `Run ${id} was not started to review another run: there is nobody it could speak to`,
        {
          suggestions: [
            'Only a reviewer that a `request_review` started has. Put what you found into your answer.',
          ],
        },
      );
    if (review.outcome === null) return review;
    throw new SquadError(
      'REVIEW_OVER',
      `Review ${review.iteration} of run ${reviewOf} is over: ${review.outcome}`,
      {
        suggestions: ['There is nothing left for you to do: end your turn.'],
      },
    );
  }

  /** Settles when what is under way for a task just now is done: work trees that go, say. */
  untilSettled(lineageId: RunId): Promise<void> {
    return this.queue.run(lineageId, async () => {});
  }

  async rounds(lineageId: RunId): Promise<Rounds> {
    const { store, settings } = this.ports;
    const reviews = await store.reviews({ lineageId, limit: ALL_REVIEWS });
    return roundsOf(reviews, await store.reviewLimit(lineageId), settings());
  }

  /** A turn of a run that waits has ended. */
  onTurnOver(run: Run): void {
    this.settle(run.lineageId);
  }

  onEnd(run: Run): void {
    if (run.reviewOf !== null || run.type !== null) this.settle(run.lineageId);
    if (run.reviewOf !== null) this.clear([run]);
    else if (run.status === 'abandoned') this.clear(null, run.lineageId);
    const left = run.worktree && this.uncleared.get(run.worktree.path);
    if (left) this.clear([left]);
  }

  /**
   * What an earlier hub was in the middle of: finished, or taken back. Before the runner looks at what became of runs, because
   * that depends on it: a reviewer that has given its feedback did not end without.
   */
  finishIntents(): Promise<void> {
    return finishIntents(this.ports);
  }

  /** Brings everything else an earlier hub left behind to where it should be. The runner has taken in all runs by now. */
  async recover(): Promise<void> {
    const { store, runner } = this.ports;
    const lineages = new Set<RunId>();
    for (const { lineageId, status } of runner.liveRuns())
      if (status === 'waiting_review') lineages.add(lineageId);
    try {
      // A run that a reviewer started may have outlived that reviewer. Most runs are part of no review, and there may be thousands.
      for (const lineageId of await store.reviewedLineages()) lineages.add(lineageId);
      const open = await store.reviews({ isOpen: true, limit: ALL_REVIEWS });
      const left = await unfinishedLineages(this.ports);
      for (const lineageId of [...open.map(review => review.lineageId), ...left]) lineages.add(lineageId);
    } finally {
      for (const lineageId of this.held ?? []) lineages.add(lineageId);
      this.held = null;
      await Promise.all([...lineages].map(lineageId => this.settled(lineageId)));
    }
    this.clear(await leftoverWorktrees(this.ports));
  }

  /** What is under way is brought to its end, and nothing more is begun. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.alarms.close();
    await this.idle();
  }

  /** Settles when nothing is under way. */
  idle(): Promise<void> {
    return this.queue.idle();
  }

  /** What changes a task, then whatever follows from it. The caller does not wait for that. */
  private async change<T>(lineageId: RunId, act: () => Promise<T>): Promise<T> {
    try {
      return await this.queue.run(lineageId, act);
    } finally {
      this.settle(lineageId);
    }
  }

  private settle(lineageId: RunId): void {
    if (this.held) this.held.add(lineageId);
    else void this.settled(lineageId);
  }

  private async settled(lineageId: RunId): Promise<void> {
    const { warn } = this.ports;
    await this.queue.run(lineageId, async () => {
      if (this.isClosed) return;
      try {
        this.lookAgain(lineageId, await closeLineage(lineageId, this.ports, this.deadlines));
        this.failures.delete(lineageId);
      } catch (thrown) {
        const failures = this.failures.get(lineageId) ?? 0;
        this.failures.set(lineageId, failures + 1);
        warn(`The reviews of ${lineageId} could not be seen to; trying again`, thrown);
        this.lookAgain(lineageId, Math.min(RETRY_MS.first * 2 ** failures, RETRY_MS.most));
      }
    });
  }

  private lookAgain(lineageId: RunId, inMs: number | null): void {
    if (!this.isClosed) this.alarms.set(lineageId, inMs);
  }

  /** Null: of everybody who was at work on the task and has ended. */
  private clear(runs: Run[] | null, lineageId = runs?.[0]?.lineageId): void {
    // What is left from before is looked for at the end of the recovery.
    if (!lineageId || this.held) return;
    const { store, warn } = this.ports;
    void this.queue.run(lineageId, async () => {
      const chosen = runs ?? (await store.runs({ lineageId, hasWorktree: true, limit: ALL_REVIEWS }));
      for (const run of chosen) {
        if (this.isClosed || !run.worktree) return;
        const { path } = run.worktree;
        const isDone = await clearWorktree(run, this.ports).catch(thrown => {
          warn(`The work tree of ${run.id} is still there`, thrown);
          return true;
        });
        if (isDone) this.uncleared.delete(path);
        else this.uncleared.set(path, run);
      }
    });
  }

  /** The review of this run that is under way. Throws REVIEW_OVER. */
  async openReviewOf({ id, status }: Run): Promise<Review> {
    const review = (await this.ports.store.reviews({ coderId: id, isOpen: true, limit: 1 }))[0];
    if (review) return review;
    throw new SquadError('REVIEW_OVER', `Run ${id} is ${status}, and no review of it is under way`, {
      suggestions: [`\`squad review ${shellWord(id)}\` shows the reviews it had.`],
    });
  }
}
