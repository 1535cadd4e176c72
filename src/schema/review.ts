import { z } from 'zod';
import { ReviewId, RunId } from './ids.ts';
import { Worktree } from './worktree.ts';

/** The part of a role in a review loop. */
export const AgentType = z.enum(['planning', 'coding', 'review']);
export type AgentType = z.infer<typeof AgentType>;

export const FeedbackType = z.enum(['needs_work', 'suggestions', 'clarification', 'approved']);
export type FeedbackType = z.infer<typeof FeedbackType>;

/**
 * How a review ended: with feedback, with a pull request, or unsuccessfully because its reviewer sent nothing, failed or took too
 * long. `cancelled`: a person cancelled it, or the reviewed run ended first.
 */
export const ReviewOutcome = z.enum([
  ...FeedbackType.options,
  'pull_request',
  'no_feedback',
  'error',
  'timeout',
  'cancelled',
]);
export type ReviewOutcome = z.infer<typeof ReviewOutcome>;

/** Author of the feedback: the reviewer, or a person in its place. */
export const FeedbackBy = z.enum(['reviewer', 'user']);
export type FeedbackBy = z.infer<typeof FeedbackBy>;

/** One review round: a coder requested it, and a reviewer was started. */
export const Review = z.object({
  id: ReviewId,
  /** Lineage of the reviewed run. Review rounds are counted per lineage. */
  lineageId: RunId,
  coderId: RunId,
  reviewerId: RunId,
  /** Number of the round within the lineage, from 1. */
  iteration: z.number(),
  commit: z.string(),
  completionMessage: z.string().nullable(),
  /** Outcome of the review. Null while the review is open. */
  outcome: ReviewOutcome.nullable(),
  /** Why the review was unsuccessful. Null if it was successful or is open. */
  reason: z.string().nullable(),
  feedback: z.string().nullable(),
  /** Author of the feedback. Null if there was none. */
  feedbackBy: FeedbackBy.nullable(),
  priority: z.string().nullable(),
  actionableItems: z.array(z.string()),
  /** Commit that added the feedback to the coder's branch. */
  feedbackCommit: z.string().nullable(),
  requestedAt: z.number(),
  deadlineAt: z.number(),
  closedAt: z.number().nullable(),
  /** The coder's turn that started with the outcome. Null if the outcome was not delivered. */
  toldInTurn: z.number().nullable(),
});
export type Review = z.infer<typeof Review>;

/** File on the coder's branch with the reviewer's feedback. */
export const FEEDBACK_FILE = 'REVIEW_FEEDBACK.md';

/** Moves a branch from one commit to another. */
export const BranchMove = z.object({ from: z.string(), to: z.string() });
export type BranchMove = z.infer<typeof BranchMove>;

const base = { id: z.string(), at: z.number() };

/**
 * A change in several places: in git and the database, or in many runs. The intent is stored before the first step and deleted with
 * the last one, so that the next hub can finish or undo an interrupted change.
 */
export const Intent = z.discriminatedUnion('kind', [
  z.object({
    ...base,
    kind: z.literal('request_review'),
    coderId: RunId,
    reviewerId: RunId,
    coderTree: Worktree,
    reviewerTree: Worktree,
    /** Move of the branch. Null if there was nothing to commit. */
    move: BranchMove.nullable(),
  }),
  z.object({
    ...base,
    kind: z.literal('send_feedback'),
    reviewId: ReviewId,
    coderTree: Worktree,
    move: BranchMove,
    feedback: z.string(),
    by: FeedbackBy,
    type: FeedbackType,
    priority: z.string().nullable(),
    actionableItems: z.array(z.string()),
    text: z.string(),
  }),
  z.object({
    ...base,
    kind: z.literal('abandon'),
    /** Task whose runs are all stopped. */
    lineageId: RunId,
    why: z.string(),
  }),
  z.object({
    ...base,
    kind: z.literal('create_pull_request'),
    /** The run that made the request. A reviewer makes it for the run it reviews, which owns the branch. */
    runId: RunId,
    ofRunId: RunId,
    tree: Worktree,
    /** Move of the branch that removes the feedback file. Null if there was none. */
    move: BranchMove.nullable(),
  }),
  z.object({
    ...base,
    kind: z.literal('integrate'),
    repository: z.string(),
    target: z.string(),
    from: z.string(),
    to: z.string(),
    /** The work tree in which the target is checked out and which is updated with it. Null if there is none. */
    folder: z.string().nullable(),
    merged: z.array(z.object({ runId: RunId, branch: z.string(), commit: z.string() })),
  }),
  z.object({
    ...base,
    kind: z.literal('check'),
    /** Temporary work tree for the check of a merged result. */
    tree: Worktree,
  }),
]);
export type Intent = z.infer<typeof Intent>;
