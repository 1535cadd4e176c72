import { z } from 'zod';
import { Rounds } from '../../core/review/rounds.ts';
import { didYouMean } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import { ReviewId } from '../../schema/ids.ts';
import { type Review, Review as ReviewSchema } from '../../schema/review.ts';
import { runSummary, ShownRun, ShownStatus, shownRun } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation, type Services } from '../operation.ts';
import { currentRun, findRun } from '../runs/find-runs.ts';

/** A review with the names and states of both runs. Parts of a run that was removed are null. */
export const ShownReview = ReviewSchema.extend({
  title: z.string().nullable(),
  coder: z.string().nullable(),
  coderStatus: ShownStatus.nullable(),
  reviewer: z.string().nullable(),
  reviewerStatus: ShownStatus.nullable(),
});
type ShownReview = z.infer<typeof ShownReview>;

async function shownReview(services: Services, review: Review): Promise<ShownReview> {
  const runOf = async (id: Review['coderId']) => {
    const row = await services.store.run(id);
    return row ? currentRun(services, row) : null;
  };
  const [coder, reviewer] = await Promise.all([runOf(review.coderId), runOf(review.reviewerId)]);
  return {
    ...review,
    title: coder && runSummary(coder),
    coder: coder && runName(coder),
    coderStatus: coder && shownStatus(coder),
    reviewer: reviewer && runName(reviewer),
    reviewerStatus: reviewer && shownStatus(reviewer),
  };
}

export const ShownRounds = z.object({ lineageId: z.string(), ...Rounds.shape });

const MAX_REVIEWS = 10_000;

/** All reviews of the task that a run belongs to, as coder, reviewer or retry. */
export const showReview = operation({
  name: 'show_review',
  route: 'GET /runs/{run}/reviews',
  input: z.strictObject({ run: z.string() }),
  output: z.object({ run: ShownRun, rounds: ShownRounds, reviews: z.array(ShownReview) }),
  async run({ services }, input) {
    const run = await findRun(services, input.run);
    const { lineageId } = run;
    const reviews = await services.store.reviews({ lineageId, limit: MAX_REVIEWS });
    return {
      run: shownRun(run),
      rounds: { lineageId, ...(await services.reviews.rounds(lineageId)) },
      reviews: await Promise.all(reviews.map(review => shownReview(services, review))),
    };
  },
});

/** Lists reviews of one workspace or of all, newest first. Optionally only open reviews. */
export const listReviews = operation({
  name: 'list_reviews',
  route: 'GET /reviews',
  input: z.strictObject({
    workspace: z.string().optional(),
    isOpen: z.literal(true).optional(),
    limit: z.number().int().min(1).max(1000).default(100),
  }),
  output: z.object({ reviews: z.array(ShownReview) }),
  async run({ services }, { limit, ...filter }) {
    const reviews = await services.store.reviews({ ...filter, limit: MAX_REVIEWS });
    const newest = reviews.slice(-limit).reverse();
    return { reviews: await Promise.all(newest.map(review => shownReview(services, review))) };
  },
});

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_ROUNDS = 10_000;

/** The changes since the previous review round; for the first round, since the work began. Throws DIFF_UNAVAILABLE. */
export const diffReview = operation({
  name: 'diff_review',
  route: 'GET /reviews/{review}/diff',
  input: z.strictObject({ review: z.string() }),
  output: z.object({
    text: z.string(),
    isTruncated: z.boolean(),
    /** Older of the two commits that were compared. */
    from: z.string(),
    to: z.string(),
    notes: z.array(z.string()),
  }),
  async run({ services }, { review: given }) {
    const { store, workTree } = services;
    const review = await findReview(services, given);
    const coder = await store.run(review.coderId);
    if (!coder?.worktree)
      throw new SquadError('DIFF_UNAVAILABLE', `No diff of ${review.id}: run ${review.coderId} was removed`, {
        suggestions: [`Git may still have the commit: \`git show ${review.commit}\`.`],
      });
    const before = await roundBefore(services, review, coder.worktree.branch);
    const { base, repository } = coder.worktree;
    // Starts at the feedback commit of the previous round, which is on the branch but is not the coder's work.
    const from = before ? (before.feedbackCommit ?? before.commit) : base;
    const to = review.commit;
    const notes = [
      before
        ? `since round ${before.iteration} (${from.slice(0, 12)})`
        : `the first round: since ${from.slice(0, 12)}, where its branch began`,
    ];
    const { text, isTruncated } = await workTree.commitDiff(repository, from, to, { maxBytes: MAX_BYTES });
    return { text, isTruncated, from, to, notes };
  },
});

async function findReview({ store }: Services, given: string): Promise<Review> {
  const id = ReviewId.safeParse(given).data;
  const found = id && (await store.review(id));
  if (found) return found;
  const recent = (await store.reviews({ limit: MAX_ROUNDS })).map(each => each.id);
  throw new SquadError('REVIEW_UNKNOWN', `There is no review ${given}`, {
    suggestions: [didYouMean(given, recent) ?? '`squad review` lists the reviews.'],
  });
}

/** The previous round on the same branch: a retry has another branch, which cannot be compared. */
async function roundBefore({ store }: Services, review: Review, branch: string): Promise<Review | null> {
  const rounds = await store.reviews({ lineageId: review.lineageId, limit: MAX_ROUNDS });
  const earlier = rounds.filter(({ iteration }) => iteration < review.iteration).toReversed();
  for (const round of earlier)
    if ((await store.run(round.coderId))?.worktree?.branch === branch) return round;
  return null;
}
