import { z } from 'zod';
import { ReviewId, RunId } from './ids.ts';
import { Worktree } from './worktree.ts';

/** What a role is for in a review loop. */
export const AgentType = z.enum(['planning', 'coding', 'review']);
export type AgentType = z.infer<typeof AgentType>;

export const FeedbackType = z.enum(['needs_work', 'suggestions', 'clarification', 'approved']);
export type FeedbackType = z.infer<typeof FeedbackType>;

/**
 * How a review ended: with feedback, with a pull request, or failed: its reviewer said nothing, broke, or took too long.
 * `cancelled`: somebody ended it, or the run it was for ended first.
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

/** Whose words a feedback is: the reviewer's, or those of a person in its place. */
export const FeedbackBy = z.enum(['reviewer', 'user']);
export type FeedbackBy = z.infer<typeof FeedbackBy>;

/** One round: a coder asked, a reviewer was started. */
export const Review = z.object({
  id: ReviewId,
  /** The task it belongs to: rounds are counted in it. */
  lineageId: RunId,
  coderId: RunId,
  reviewerId: RunId,
  /** From 1, within the lineage. */
  iteration: z.number(),
  /** What was to be reviewed. */
  commit: z.string(),
  completionMessage: z.string().nullable(),
  /** Null while it is open. */
  outcome: ReviewOutcome.nullable(),
  /** Why, where the outcome is a failure. */
  reason: z.string().nullable(),
  feedback: z.string().nullable(),
  /** Null while there is none. */
  feedbackBy: FeedbackBy.nullable(),
  priority: z.string().nullable(),
  actionableItems: z.array(z.string()),
  /** The commit that put the feedback on the coder's branch. */
  feedbackCommit: z.string().nullable(),
  requestedAt: z.number(),
  deadlineAt: z.number(),
  closedAt: z.number().nullable(),
  /** The coder's turn that began with its outcome; null: not yet, or there was nobody to tell. */
  toldInTurn: z.number().nullable(),
});
export type Review = z.infer<typeof Review>;

/** The name under which a reviewer's words are put on the coder's branch. */
export const FEEDBACK_FILE = 'REVIEW_FEEDBACK.md';

/** A branch that is to go from one commit to another. */
export const BranchMove = z.object({ from: z.string(), to: z.string() });
export type BranchMove = z.infer<typeof BranchMove>;

const base = { id: z.string(), at: z.number() };

/**
 * What is about to be changed in several places: in git and in the database, or in many runs. Written down before the first
 * and taken out with the last, so that whoever finds one knows what was under way.
 */
export const Intent = z.discriminatedUnion('kind', [
  z.object({
    ...base,
    kind: z.literal('request_review'),
    coderId: RunId,
    reviewerId: RunId,
    coderTree: Worktree,
    reviewerTree: Worktree,
    /** Null: there was nothing to commit. */
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
    /** Everybody at work on this task is to be stopped. */
    lineageId: RunId,
    why: z.string(),
  }),
  z.object({
    ...base,
    kind: z.literal('create_pull_request'),
    /** Who asked, and whose branch it is: a reviewer asks for the run it reviews. */
    runId: RunId,
    ofRunId: RunId,
    tree: Worktree,
    /** The feedback file goes first; null: there was none. */
    move: BranchMove.nullable(),
  }),
  z.object({
    ...base,
    kind: z.literal('integrate'),
    repository: z.string(),
    target: z.string(),
    from: z.string(),
    to: z.string(),
    /** The work tree that has the target checked out and follows it; null: none has. */
    folder: z.string().nullable(),
    merged: z.array(z.object({ runId: RunId, branch: z.string(), commit: z.string() })),
  }),
  z.object({
    ...base,
    kind: z.literal('check'),
    /** Where a merged result is tried out: nobody's work is in it. */
    tree: Worktree,
  }),
]);
export type Intent = z.infer<typeof Intent>;
