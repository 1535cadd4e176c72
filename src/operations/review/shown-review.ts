import { z } from 'zod';
import type { Review } from '../../schema/review.ts';
import { Review as ReviewSchema } from '../../schema/review.ts';
import { runSummary, ShownStatus } from '../../schema/run.ts';
import { runName } from '../../schema/run-name.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';
import { asItIsNow } from '../runs/find.ts';

/** A round as people see it: with who takes part in it, how both are now, and what it is about. Null: its run is gone. */
export const ShownReview = ReviewSchema.extend({
  title: z.string().nullable(),
  coder: z.string().nullable(),
  coderStatus: ShownStatus.nullable(),
  reviewer: z.string().nullable(),
  reviewerStatus: ShownStatus.nullable(),
});
type ShownReview = z.infer<typeof ShownReview>;

export async function shownReview(services: Services, review: Review): Promise<ShownReview> {
  const runOf = async (id: Review['coderId']) => {
    const row = await services.store.run(id);
    return row ? asItIsNow(services, row) : null;
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

/** How far a task has come against its limits. */
export const ShownRounds = z.object({
  lineageId: z.string(),
  current: z.number(),
  max: z.number(),
  /** Reviews that asked for more work. */
  sentBack: z.number(),
  /** Reviews that came to nothing. */
  failed: z.number(),
  abandonAfter: z.number(),
});
