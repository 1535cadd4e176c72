import { randomUUID } from 'node:crypto';
import { asSquadError, SquadError } from '../../schema/error.ts';
import {
  type BranchMove,
  FEEDBACK_FILE,
  type FeedbackBy,
  type Intent,
  type Review,
} from '../../schema/review.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { type ReviewPorts, runNow } from './ports.ts';
import { feedbackFile } from './prompts.ts';
import type { Feedback } from './review-input.ts';
import { closing } from './rounds.ts';

const MAX_TRIES = 5;

/** Retries when the agent in the same work tree commits in between. */
export async function retryWhileBranchMoves<T>(act: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await act();
    } catch (thrown) {
      if (tried === MAX_TRIES || asSquadError(thrown).code !== 'BRANCH_MOVED') throw thrown;
    }
  }
}

type FeedbackIntent = Extract<Intent, { kind: 'send_feedback' }>;

/** How long to wait for another git process to release the branch. It is short, because the change can be retried. */
export const BRANCH_LOCK_TIMEOUT_MS = 500;

/** Commits the feedback to the coder's branch and closes the review: both or neither. Returns the closed review. */
export async function giveFeedback(
  review: Review,
  feedback: Feedback,
  by: FeedbackBy,
  ports: ReviewPorts,
): Promise<Review> {
  await finishEarlier(review, ports);
  const coder = await waitingCoder((await ports.store.review(review.id)) ?? review, ports);
  const text = feedbackFile(review, feedback, by);
  const intent: FeedbackIntent = {
    ...{ id: randomUUID(), kind: 'send_feedback', at: ports.clock.now(), reviewId: review.id },
    ...{ coderTree: coder.worktree, move: { from: '', to: '' }, ...feedback, by, text },
  };
  try {
    await putOnBranch(intent, review, ports);
    ports.checkpoint('send_feedback:2');
    return await closeWith(intent, review, coder, ports);
  } catch (thrown) {
    await undoFeedback(intent, ports).catch(again =>
      ports.warn(`The feedback for ${coder.id} is undone or given at the next start`, again),
    );
    throw thrown;
  }
}

/**
 * Gives feedback that an earlier hub had begun to give. False if another git process uses the branch, so that the
 * intent stays for later.
 */
export async function finishFeedback(intent: FeedbackIntent, ports: ReviewPorts): Promise<boolean> {
  const { coderTree, move } = intent;
  const review = await ports.store.review(intent.reviewId);
  try {
    if (!review)
      throw new SquadError(
        'REVIEW_OVER',
        `There is no review ${intent.reviewId}: it was removed with its run`,
        { suggestions: ['`squad review` lists all reviews.'] },
      );
    const coder = await waitingCoder(review, ports);
    const isThere = await ports.branches.apply(coderTree, move, FEEDBACK_FILE, BRANCH_LOCK_TIMEOUT_MS).then(
      () => true,
      thrown => {
        if (asSquadError(thrown).code !== 'BRANCH_MOVED') throw thrown;
        return false;
      },
    );
    if (!isThere) await putOnBranch(intent, review, ports, BRANCH_LOCK_TIMEOUT_MS);
    await closeWith(intent, review, coder, ports);
  } catch (thrown) {
    if (asSquadError(thrown).code === 'GIT_BUSY') return false;
    ports.warn(`Feedback for review ${intent.reviewId} could not be given`, thrown);
    await undoFeedback(intent, ports, BRANCH_LOCK_TIMEOUT_MS);
  }
  return true;
}

/** Feedback that an earlier hub had begun to give in the same review comes first. */
async function finishEarlier({ id, coderId }: Review, ports: ReviewPorts): Promise<void> {
  for (const intent of await ports.store.intents())
    if (intent.kind === 'send_feedback' && intent.reviewId === id && !(await finishFeedback(intent, ports)))
      throw new SquadError('GIT_BUSY', `Another git process uses the branch of run ${coderId}`, {
        suggestions: ['The feedback that was sent before is not delivered yet. Try again in a few seconds.'],
      });
}

async function putOnBranch(
  intent: FeedbackIntent,
  { iteration }: Review,
  ports: ReviewPorts,
  patienceMs?: number,
): Promise<void> {
  const { branches, store, checkpoint } = ports;
  const { coderTree, text } = intent;
  const file = { path: FEEDBACK_FILE, text };
  await retryWhileBranchMoves(async () => {
    // Null if the branch already has a feedback file with this content.
    intent.move =
      (await branches.prepareFile(coderTree, file, `Feedback of review ${iteration}`)) ??
      (await unmoved(coderTree, ports));
    await store.commit({ intents: [{ ...intent }], events: [] });
    checkpoint('send_feedback:1');
    await branches.apply(coderTree, intent.move, FEEDBACK_FILE, patienceMs);
  });
}

async function unmoved(tree: Worktree, { branches }: ReviewPorts): Promise<BranchMove> {
  const tip = await branches.tip(tree);
  return { from: tip, to: tip };
}

async function closeWith(
  { id, move, feedback, by: feedbackBy, type: outcome, priority, actionableItems }: FeedbackIntent,
  review: Review,
  coder: Run,
  { store, clock, checkpoint }: ReviewPorts,
): Promise<Review> {
  const how = { outcome, feedback, feedbackBy, priority, actionableItems, feedbackCommit: move.to };
  const change = closing(review, how, coder, clock);
  await store.commit({ ...change, intentsDone: [id] });
  checkpoint('send_feedback:3');
  return change.reviews![0]!;
}

async function undoFeedback(
  { id, reviewId, coderTree, move }: FeedbackIntent,
  { branches, store, warn }: ReviewPorts,
  patienceMs?: number,
): Promise<void> {
  // Without a target commit there is nothing to do: the branch already had this feedback file.
  if (move.to === '') return;
  if ((await store.review(reviewId))?.outcome == null)
    // An extra file on the branch is harmless, because the next feedback replaces it.
    await branches
      .undo(coderTree, move, FEEDBACK_FILE, patienceMs)
      .catch(thrown => warn(`Feedback that was not given is still on ${coderTree.branch}`, thrown));
  await store.commit({ intentsDone: [id], events: [] });
}

async function waitingCoder(
  { coderId, outcome, iteration }: Review,
  ports: ReviewPorts,
): Promise<Run & { worktree: Worktree }> {
  if (outcome !== null)
    throw new SquadError('REVIEW_OVER', `Review ${iteration} of run ${coderId} is over (${outcome})`, {
      suggestions: ['There is nothing left for you to do: end your turn.'],
    });
  const coder = await runNow(ports, coderId);
  if (!coder || isEnd(coder.status) || !coder.worktree)
    throw new SquadError(
      'REVIEW_OVER',
      `Run ${coderId} is ${coder?.status ?? 'gone'}: it no longer waits for this review`,
      {
        suggestions: ['There is nothing left for you to do: end your turn.'],
      },
    );
  return { ...coder, worktree: coder.worktree };
}
