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

/** An agent that commits that often between two looks is not one to wait for. */
const TRIES = 5;

/** Prepares and applies anew as long as the agent at work in the same tree is faster. */
export async function retryWhileBranchMoves<T>(act: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await act();
    } catch (thrown) {
      if (tried === TRIES || asSquadError(thrown).code !== 'BRANCH_MOVED') throw thrown;
    }
  }
}

type FeedbackIntent = Extract<Intent, { kind: 'send_feedback' }>;

/** How long another git is waited for by what can be tried again later. */
export const BRANCH_LOCK_TIMEOUT_MS = 500;

/** Puts the words of a reviewer, or of a person in its place, on the coder's branch and closes the review: both, or neither. Returns the review as it is then. */
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
    await takeBackFeedback(intent, ports).catch(again =>
      ports.warn(`The feedback for ${coder.id} is taken back or given at the next start`, again),
    );
    throw thrown;
  }
}

/**
 * What an earlier hub had begun: the words are there, so they are given. False: another git is at work on the branch, and for
 * that words are neither lost nor is anybody kept waiting.
 */
export async function finishFeedback(intent: FeedbackIntent, ports: ReviewPorts): Promise<boolean> {
  const { coderTree, move } = intent;
  const review = await ports.store.review(intent.reviewId);
  try {
    if (!review) throw new SquadError('REVIEW_OVER', `Review ${intent.reviewId} is not known any more`);
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
    await takeBackFeedback(intent, ports, BRANCH_LOCK_TIMEOUT_MS);
  }
  return true;
}

/** Words that an earlier hub was about to give in the same review come first. */
async function finishEarlier({ id, coderId }: Review, ports: ReviewPorts): Promise<void> {
  for (const intent of await ports.store.intents())
    if (intent.kind === 'send_feedback' && intent.reviewId === id && !(await finishFeedback(intent, ports)))
      throw new SquadError('GIT_BUSY', `Another git is at work on the branch of run ${coderId}`, {
        suggestions: ['Feedback was given before and is on its way. Try again in a moment.'],
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
    // Nothing to do: somebody else has put exactly this there.
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

async function takeBackFeedback(
  { id, reviewId, coderTree, move }: FeedbackIntent,
  { branches, store, warn }: ReviewPorts,
  patienceMs?: number,
): Promise<void> {
  // Without a move nothing was written down either.
  if (move.to === '') return;
  if ((await store.review(reviewId))?.outcome == null)
    // A file too many on the branch is harmless: the next feedback replaces it.
    await branches
      .undo(coderTree, move, FEEDBACK_FILE, patienceMs)
      .catch(thrown => warn(`Feedback that was not given is left on ${coderTree.branch}`, thrown));
  await store.commit({ intentsDone: [id], events: [] });
}

async function waitingCoder(
  { coderId, outcome, iteration }: Review,
  ports: ReviewPorts,
): Promise<Run & { worktree: Worktree }> {
  if (outcome !== null)
    throw new SquadError(
      'REVIEW_OVER',
      `Review ${iteration} of run ${coderId} is over (${outcome}): nothing more can be said in it`,
      {
        suggestions: ['There is nothing left for you to do: end your turn.'],
      },
    );
  const coder = await runNow(ports, coderId);
  if (!coder || isEnd(coder.status) || !coder.worktree)
    throw new SquadError(
      'REVIEW_OVER',
      `Run ${coderId} is ${coder?.status ?? 'gone'}: nobody waits for this review any more`,
      {
        suggestions: ['There is nothing left for you to do: end your turn.'],
      },
    );
  return { ...coder, worktree: coder.worktree };
}
