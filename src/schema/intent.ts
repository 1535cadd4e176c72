import { z } from 'zod';
import { ReviewId, RunId } from './ids.ts';
import { FeedbackBy, FeedbackType } from './review.ts';
import { Worktree } from './worktree.ts';

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
