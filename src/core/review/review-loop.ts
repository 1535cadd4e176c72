import { backOffMs } from '../../base/back-off.ts';
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
import { type RequestedReview, requestReview } from './request-review.ts';
import { checkFeedback, checkReviewAsk, type Feedback, type ReviewAsk } from './review-input.ts';
import { closing, pullRequestOpened, type Rounds, roundsOf } from './rounds.ts';

/**
 * Removes the work tree of an ended run, unless work would be lost, and records the result. False if another run uses
 * the work tree.
 */
async function clearWorktree(run: Run, ports: ReviewPorts): Promise<boolean> {
  const { worktree } = run;
  if (!worktree) return true;
  const { clock, store, worktrees, runner } = ports;
  const usesSameTree = (other: Run) => other.worktree?.path === worktree.path && !isEnd(other.status);
  if (runner.liveRuns().some(usesSameTree)) return false;
  // An empty branch of a reviewer is useless, so it is dropped. A person decides about a coder's branch.
  const removal = await worktrees.remove(worktree, { dropEmptyBranch: run.reviewOf !== null });
  await store.commit({ events: [eventOf(clock, run, removalEvent(worktree, removal))] });
  return true;
}

/** The delay doubles after each failure. */
const RETRY_DELAY_MS = { first: 5_000, max: 600_000 };

/**
 * The loop from a review request to the coder's next turn. Does one step at a time for each task, and stores every step
 * on disk.
 */
export class ReviewLoop {
  private readonly ports: ReviewPorts;
  private readonly queue = new KeyedQueue<RunId>();
  private readonly alarms: Alarms<RunId>;
  private readonly deadlines: Deadlines<string>;
  private readonly failures = new Map<RunId, number>();
  /** Runs whose work tree will be removed when no other run uses it. */
  private readonly uncleared = new Map<string, Run>();
  /** Tasks that become due before the recovery is done. They are advanced after it. Null once it is done. */
  private held: Set<RunId> | null = new Set();
  private isClosed = false;

  constructor(ports: ReviewPorts) {
    this.ports = ports;
    this.alarms = new Alarms(ports.clock, lineageId => this.advanceSoon(lineageId));
    this.deadlines = new Deadlines(ports.clock);
  }

  /**
   * Requests a review. Throws REVIEW_OPEN, REVIEW_LIMIT_EXCEEDED, WORKTREE_NEEDED, WORKTREE_MISSING,
   * NOTHING_TO_PROPOSE, and the errors of planning a run.
   */
  async request(coder: Run, ask: ReviewAsk): Promise<RequestedReview> {
    checkReviewAsk(ask);
    return this.change(coder.lineageId, () =>
      requestReview(this.ports.runner.current(coder.id) ?? coder, ask, this.ports),
    );
  }

  /**
   * Gives a reviewer's feedback. Throws REVIEW_OVER and FEEDBACK_FAILED. The reviewer is stopped a moment later, when
   * it has the result of its call.
   */
  async feedback(reviewer: Run, feedback: Feedback): Promise<Review> {
    checkFeedback(feedback);
    return this.endedBy(reviewer, review => giveFeedback(review, feedback, 'reviewer', this.ports));
  }

  /**
   * Gives feedback of a person instead of the reviewer, which is stopped. With `round` only in that round: the person has
   * not seen a later one. Throws REVIEW_OVER.
   */
  async answer(coder: Run, feedback: Feedback, round: number | null = null): Promise<Review> {
    checkFeedback(feedback);
    return this.change(coder.lineageId, async () => {
      const open = await this.openReviewOf(coder);
      if (round !== null && open.iteration !== round)
        throw new SquadError(
          'REVIEW_OVER',
          `Round ${round} of run ${coder.id} is over, and round ${open.iteration} is open now`,
          { suggestions: [`\`squad review ${shellWord(coder.id)}\` shows its reviews. Nothing was sent.`] },
        );
      const review = await giveFeedback(open, feedback, 'user', this.ports);
      await this.ports.runner.stop(review.reviewerId, 'terminate');
      return review;
    });
  }

  /** Ends the open review. The coder is notified and continues. */
  cancel(coder: Run, reason: string): Promise<Review> {
    const { store, clock } = this.ports;
    return this.change(coder.lineageId, async () => {
      const change = closing(await this.openReviewOf(coder), { outcome: 'cancelled', reason }, coder, clock);
      await store.commit(change);
      return change.reviews![0]!;
    });
  }

  /** Allows this many rounds in addition to the used or the allowed ones, whichever number is higher. */
  allow({ id, squadId, lineageId }: Run, more: number): Promise<Rounds> {
    const { store, clock } = this.ports;
    return this.change(lineageId, async () => {
      const rounds = await this.rounds(lineageId);
      const limit = Math.max(rounds.current, rounds.max) + more;
      const event = eventOf(clock, { id, squadId }, { type: 'review.limit_changed', lineageId, limit });
      await store.commit({ reviewLimits: [{ lineageId, limit }], events: [event] });
      return this.rounds(lineageId);
    });
  }

  /** Abandons the task. Resolves when all its runs were asked to stop. */
  async abandon({ lineageId, status }: Run, why: string): Promise<void> {
    await this.change(lineageId, () => abandonLineage(lineageId, why, this.ports));
    // For a run that has not ended, the work tree is removed after its end.
    if (isEnd(status)) this.clear(null, lineageId);
  }

  /** Records a pull request. If a reviewer has opened it, the review loop ends. */
  openedPullRequest(
    run: Run,
    pr: PullRequest & { branch: string },
    intentsDone: string[] = [],
  ): Promise<void> {
    return this.change(run.lineageId, () => pullRequestOpened(run, pr, intentsDone, this.ports));
  }

  /**
   * Calls `act`, which ends the review. Other changes of the task wait, so that only one call can end a review.
   * Throws REVIEW_OVER and NOT_ALLOWED.
   */
  endedBy<T>(reviewer: Run, act: (review: Review) => Promise<T>): Promise<T> {
    return this.change(reviewer.lineageId, async () => act(await this.reviewBy(reviewer)));
  }

  /** The open review of this reviewer. Throws REVIEW_OVER and NOT_ALLOWED. */
  async reviewBy({ id, reviewOf }: Run): Promise<Review> {
    const [review] = await this.ports.store.reviews({ reviewerId: id, limit: 1 });
    if (!review || reviewOf === null)
      throw new SquadError('NOT_ALLOWED', `Run ${id} was not started to review another run`, {
        suggestions: [
          'Only a reviewer started by `request_review` can do this. Put your findings into your answer.',
        ],
      });
    if (review.outcome === null) return review;
    throw new SquadError(
      'REVIEW_OVER',
      `Review ${review.iteration} of run ${reviewOf} is over: ${review.outcome}`,
      {
        suggestions: ['There is nothing left for you to do: end your turn.'],
      },
    );
  }

  /** Resolves when the current work for a task is done, for example the removal of work trees. */
  untilIdle(lineageId: RunId): Promise<void> {
    return this.queue.run(lineageId, async () => {});
  }

  async rounds(lineageId: RunId): Promise<Rounds> {
    const { store, settings } = this.ports;
    const reviews = await store.reviews({ lineageId, limit: ALL_REVIEWS });
    return roundsOf(reviews, await store.reviewLimit(lineageId), settings());
  }

  /** Called when a turn of a waiting run has ended. */
  onTurnOver(run: Run): void {
    this.advanceSoon(run.lineageId);
  }

  onEnd(run: Run): void {
    if (run.reviewOf !== null || run.type !== null) this.advanceSoon(run.lineageId);
    if (run.reviewOf !== null) this.clear([run]);
    else if (run.status === 'abandoned') this.clear(null, run.lineageId);
    const left = run.worktree && this.uncleared.get(run.worktree.path);
    if (left) this.clear([left]);
  }

  /**
   * Finishes or undoes interrupted work of an earlier hub. Must run before the runner judges ended runs: otherwise a
   * reviewer whose feedback was being delivered would count as ended without feedback. With `of` only these intents.
   */
  finishIntents(of: readonly string[] | null = null): Promise<void> {
    return finishIntents(this.ports, of);
  }

  /** Continues all other work that an earlier hub left behind. The runner must know all runs by now. */
  async recover(): Promise<void> {
    const { store, runner } = this.ports;
    const lineages = new Set<RunId>();
    for (const { lineageId, status } of runner.liveRuns())
      if (status === 'waiting_review') lineages.add(lineageId);
    try {
      // A run that a reviewer started may outlive that reviewer. Only tasks with reviews are checked, because there may
      // be thousands of other runs.
      for (const lineageId of await store.reviewedLineages()) lineages.add(lineageId);
      const open = await store.reviews({ isOpen: true, limit: ALL_REVIEWS });
      const left = await unfinishedLineages(this.ports);
      for (const lineageId of [...open.map(review => review.lineageId), ...left]) lineages.add(lineageId);
    } finally {
      for (const lineageId of this.held ?? []) lineages.add(lineageId);
      this.held = null;
      await Promise.all([...lineages].map(lineageId => this.advance(lineageId)));
    }
    this.clear(await leftoverWorktrees(this.ports));
  }

  /** Continues the tasks of runs that another hub left behind. The runner must know the runs by now. */
  async recoverRuns(runs: readonly Run[]): Promise<void> {
    const lineages = new Set(runs.map(({ lineageId }) => lineageId));
    await Promise.all([...lineages].map(lineageId => this.advance(lineageId)));
  }

  /** Finishes the current work and starts no more. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.alarms.close();
    await this.idle();
  }

  /** Resolves when no change is in progress. */
  idle(): Promise<void> {
    return this.queue.idle();
  }

  /** Changes a task, then advances it. The caller waits only for the change. */
  private async change<T>(lineageId: RunId, act: () => Promise<T>): Promise<T> {
    try {
      return await this.queue.run(lineageId, act);
    } finally {
      this.advanceSoon(lineageId);
    }
  }

  private advanceSoon(lineageId: RunId): void {
    if (this.held) this.held.add(lineageId);
    else void this.advance(lineageId);
  }

  private async advance(lineageId: RunId): Promise<void> {
    const { warn } = this.ports;
    await this.queue.run(lineageId, async () => {
      if (this.isClosed) return;
      try {
        this.setAlarm(lineageId, await closeLineage(lineageId, this.ports, this.deadlines));
        this.failures.delete(lineageId);
      } catch (thrown) {
        const failures = this.failures.get(lineageId) ?? 0;
        this.failures.set(lineageId, failures + 1);
        warn(`The reviews of ${lineageId} could not be continued; will retry`, thrown);
        this.setAlarm(lineageId, backOffMs(failures, RETRY_DELAY_MS));
      }
    });
  }

  private setAlarm(lineageId: RunId, inMs: number | null): void {
    if (!this.isClosed) this.alarms.set(lineageId, inMs);
  }

  /** Removes work trees of these runs. With null, those of all ended runs of the task. */
  private clear(runs: Run[] | null, lineageId = runs?.[0]?.lineageId): void {
    // During the recovery of reviews nothing is removed. Work trees are removed at its end.
    if (!lineageId || this.held) return;
    const { store, warn } = this.ports;
    void this.queue.run(lineageId, async () => {
      const chosen = runs ?? (await store.runs({ lineageId, hasWorktree: true, limit: ALL_REVIEWS }));
      for (const run of chosen) {
        if (this.isClosed || !run.worktree) return;
        const { path } = run.worktree;
        const isDone = await clearWorktree(run, this.ports).catch(thrown => {
          warn(`The work tree of ${run.id} could not be removed`, thrown);
          return true;
        });
        if (isDone) this.uncleared.delete(path);
        else this.uncleared.set(path, run);
      }
    });
  }

  /** The open review of this coder. Throws REVIEW_OVER. */
  async openReviewOf({ id, status }: Run): Promise<Review> {
    const review = (await this.ports.store.reviews({ coderId: id, isOpen: true, limit: 1 }))[0];
    if (review) return review;
    throw new SquadError('REVIEW_OVER', `Run ${id} is ${status} and has no open review`, {
      suggestions: [`\`squad review ${shellWord(id)}\` shows its reviews.`],
    });
  }
}
