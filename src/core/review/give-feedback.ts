import { randomUUID } from 'node:crypto';
import { asSquadError, SquadError } from '../../schema/error.ts';
import type { BranchMove, Intent } from '../../schema/intent.ts';
import { FEEDBACK_FILE, type FeedbackBy, type Review } from '../../schema/review.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { whileMoving } from './branch-tries.ts';
import { closing } from './close-review.ts';
import { feedbackFile } from './feedback-file.ts';
import { type ReviewPorts, runNow } from './ports.ts';
import type { Feedback } from './review-input.ts';

type FeedbackIntent = Extract<Intent, { kind: 'send_feedback' }>;

/** Puts the words of a reviewer, or of a person in its place, on the coder's branch and closes the review: both, or neither. Returns the review as it is then. */
export async function giveFeedback(
  review: Review,
  feedback: Feedback,
  by: FeedbackBy,
  ports: ReviewPorts,
): Promise<Review> {
  const coder = await waitingCoder(review, ports);
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

/** What an earlier hub had begun: the words are there, so they are given. */
export async function finishFeedback(intent: FeedbackIntent, ports: ReviewPorts): Promise<void> {
  const review = await ports.store.review(intent.reviewId);
  try {
    if (!review) throw new SquadError('REVIEW_OVER', `Review ${intent.reviewId} is not known any more`);
    const coder = await waitingCoder(review, ports);
    const isThere = await ports.branches.apply(intent.coderTree, intent.move, FEEDBACK_FILE).then(
      () => true,
      thrown => {
        if (asSquadError(thrown).code !== 'BRANCH_MOVED') throw thrown;
        return false;
      },
    );
    if (!isThere) await putOnBranch(intent, review, ports);
    await closeWith(intent, review, coder, ports);
  } catch (thrown) {
    ports.warn(`Feedback for review ${intent.reviewId} could not be given`, thrown);
    await takeBackFeedback(intent, ports);
  }
}

async function putOnBranch(intent: FeedbackIntent, { iteration }: Review, ports: ReviewPorts): Promise<void> {
  const { branches, store, checkpoint } = ports;
  const { coderTree, text } = intent;
  const file = { path: FEEDBACK_FILE, text };
  await whileMoving(async () => {
    // Nothing to do: somebody else has put exactly this there.
    intent.move =
      (await branches.prepareFile(coderTree, file, `Feedback of review ${iteration}`)) ??
      (await unmoved(coderTree, ports));
    await store.commit({ intents: [{ ...intent }], events: [] });
    checkpoint('send_feedback:1');
    await branches.apply(coderTree, intent.move, FEEDBACK_FILE);
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
): Promise<void> {
  // Without a move nothing was written down either.
  if (move.to === '') return;
  if ((await store.review(reviewId))?.outcome == null)
    // A file too many on the branch is harmless: the next feedback replaces it.
    await branches
      .undo(coderTree, move, FEEDBACK_FILE)
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
