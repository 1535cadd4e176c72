import { z } from 'zod';
import { type Review, Review as ReviewSchema } from '../../schema/review.ts';
import { runSummary, ShownRun, ShownStatus, shownRun } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation, type Services } from '../operation.ts';
import { currentRun, findRun } from '../runs/find-runs.ts';

/** A review with the names and states of both runs. Null: the run was removed. */
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

export const ShownRounds = z.object({
  lineageId: z.string(),
  current: z.number(),
  max: z.number(),
  /** Reviews that asked for more work. */
  sentBack: z.number(),
  /** Reviews without a result. */
  failed: z.number(),
  abandonAfter: z.number(),
});

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

/** Reviews of one workspace or all; only open ones or all. Newest first. */
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
