import { z } from 'zod';
import { ReviewId, RunId } from './ids.ts';

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
