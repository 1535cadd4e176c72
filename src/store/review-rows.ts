import { Intent } from '../schema/intent.ts';
import { Review } from '../schema/review.ts';
import { fromJson } from './rows.ts';
import type { IntentRow, ReviewRow } from './tables.ts';

export const reviewToRow = (review: Review): ReviewRow => ({
  id: review.id,
  lineage_id: review.lineageId,
  coder_id: review.coderId,
  reviewer_id: review.reviewerId,
  iteration: review.iteration,
  commit: review.commit,
  completion_message: review.completionMessage,
  outcome: review.outcome,
  reason: review.reason,
  feedback: review.feedback,
  feedback_by: review.feedbackBy,
  priority: review.priority,
  actionable_items: JSON.stringify(review.actionableItems),
  feedback_commit: review.feedbackCommit,
  requested_at: review.requestedAt,
  deadline_at: review.deadlineAt,
  closed_at: review.closedAt,
  told_in_turn: review.toldInTurn,
});

export const rowToReview = (row: ReviewRow): Review => ({
  id: row.id,
  lineageId: row.lineage_id,
  coderId: row.coder_id,
  reviewerId: row.reviewer_id,
  iteration: row.iteration,
  commit: row.commit,
  completionMessage: row.completion_message,
  outcome: row.outcome,
  reason: row.reason,
  feedback: row.feedback,
  feedbackBy: row.feedback_by,
  priority: row.priority,
  actionableItems: fromJson(Review.shape.actionableItems, row.actionable_items, `items of ${row.id}`),
  feedbackCommit: row.feedback_commit,
  requestedAt: row.requested_at,
  deadlineAt: row.deadline_at,
  closedAt: row.closed_at,
  toldInTurn: row.told_in_turn,
});

export function intentToRow({ id, kind, at, ...rest }: Intent): IntentRow {
  return { id, kind, at, data: JSON.stringify(rest) };
}

export const rowToIntent = ({ id, kind, at, data }: IntentRow): Intent =>
  fromJson(Intent, data, `intent ${id}`, { id, kind, at });
