import { z } from 'zod';
import type { Review } from '../schema/review.ts';
import { Review as ReviewSchema } from '../schema/review.ts';
import { RunStatus } from '../schema/run.ts';
import { asItIsNow } from './find.ts';
import type { Services } from './operation.ts';

/** A round as people see it: with how both who take part in it are now. */
export const ShownReview = ReviewSchema.extend({
  coderStatus: RunStatus.nullable(),
  reviewerStatus: RunStatus.nullable(),
});
type ShownReview = z.infer<typeof ShownReview>;

export async function shownReview(services: Services, review: Review): Promise<ShownReview> {
  const statusOf = async (id: Review['coderId']) => {
    const row = await services.store.run(id);
    return row ? (await asItIsNow(services, row)).status : null;
  };
  const [coderStatus, reviewerStatus] = await Promise.all([
    statusOf(review.coderId),
    statusOf(review.reviewerId),
  ]);
  return { ...review, coderStatus, reviewerStatus };
}

/** How far a task has come against its limits. */
export const ShownRounds = z.object({
  lineageId: z.string(),
  current: z.number(),
  max: z.number(),
  failed: z.number(),
  abandonAfter: z.number(),
});
