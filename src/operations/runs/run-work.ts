import { z } from 'zod';
import { ReviewId, RunId } from '../../schema/ids.ts';
import { type Review, ReviewOutcome } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Services } from '../operation.ts';

const MAX_ROUNDS = 10_000;

/** Where a run's work is: its branch, its work tree, and refs saved when the work tree was removed. */
export const ShownWork = z.object({
  branch: z.string(),
  base: z.string(),
  path: z.string(),
  /** Whether the folder exists. Null if unknown. */
  isThere: z.boolean().nullable(),
  /** Commit of the branch. Null if the branch is gone, or unknown. */
  tip: z.string().nullable(),
  /** Refs with saved changes, newest last. */
  saved: z.array(z.string()),
});
export type ShownWork = z.infer<typeof ShownWork>;

/** The review that a run waits for, had last, or was started for. */
export const ReviewOfRun = z.object({
  id: ReviewId,
  iteration: z.number(),
  /** Number of review rounds that the task may have. */
  max: z.number(),
  coderId: RunId,
  reviewerId: RunId,
  /** Outcome of the review. Null while it is open. */
  outcome: ReviewOutcome.nullable(),
});
export type ReviewOfRun = z.infer<typeof ReviewOfRun>;

export const ShownPullRequest = z.object({ number: z.number(), url: z.string(), branch: z.string() });
export type ShownPullRequest = z.infer<typeof ShownPullRequest>;

export async function workOf(
  { worktrees }: Pick<Services, 'worktrees'>,
  { worktree }: Pick<Run, 'worktree'>,
): Promise<ShownWork | null> {
  if (!worktree) return null;
  const { branch, base, path } = worktree;
  const unknown = { isThere: null, tip: null, saved: [] };
  return { branch, base, path, ...(await worktrees.remains(worktree).catch(() => unknown)) };
}

export async function reviewOfRun(
  { store, reviews }: Pick<Services, 'store' | 'reviews'>,
  run: Run,
): Promise<ReviewOfRun | null> {
  const last = await lastReview(store, run);
  if (!last) return null;
  const { id, iteration, coderId, reviewerId, outcome } = last;
  const { max } = await reviews.rounds(run.lineageId);
  return { id, iteration, max, coderId, reviewerId, outcome };
}

/**
 * The newest pull request of a run. A reviewer's pull request is recorded with the reviewed run and is shown for
 * both.
 */
export async function pullRequestOf(
  { store }: Pick<Services, 'store'>,
  run: Run,
): Promise<ShownPullRequest | null> {
  if (run.worktree === null) return null;
  const isReviewer = run.reviewOf !== null;
  if (isReviewer && (await lastReview(store, run))?.outcome !== 'pull_request') return null;
  const runId = run.reviewOf ?? run.id;
  const [event] = await store.events({ runId, types: ['pull_request.opened'], limit: 1, reverse: true });
  if (event?.body.type !== 'pull_request.opened') return null;
  const { number, url, branch } = event.body;
  return { number, url, branch };
}

/**
 * Notes that say where the changes of a run with a work tree are, because the reader's own checkout does not have them.
 */
export function branchNotes({ id, worktree, reviewOf, evidence }: Run): string[] {
  if (!worktree || reviewOf !== null || changedNothing(evidence)) return [];
  const merge = `\`squad diff ${shellWord(id)}\` shows it, \`squad integrate ${shellWord(id)}\` merges it.`;
  return [`Its work is on branch ${worktree.branch}, in ${worktree.path}. ${merge}`];
}

const changedNothing = (evidence: Run['evidence']): boolean =>
  evidence?.filesChanged?.count === 0 && evidence.commits?.count === 0;

/** Notes for a result about where the work is. */
export async function workNotes(services: Pick<Services, 'store'>, run: Run): Promise<string[]> {
  const { reviewOf } = run;
  const pull = await pullRequestOf(services, run);
  return [
    ...(reviewOf === null ? [] : [`Reviews run ${reviewOf}.`]),
    ...branchNotes(run),
    ...(pull ? [`Pull request #${pull.number}: ${pull.url}`] : []),
  ];
}

/** The last review of a run's work, or the review for which the run was started. */
export async function lastReview(
  store: Services['store'],
  { id, reviewOf }: Run,
): Promise<Review | undefined> {
  const whose = reviewOf === null ? { coderId: id } : { reviewerId: id };
  return (await store.reviews({ ...whose, limit: MAX_ROUNDS })).at(-1);
}
