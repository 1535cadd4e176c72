import { z } from 'zod';
import { operation } from '../operation.ts';
import { ShownReview, shownReview } from './shown-review.ts';

const MOST = 10_000;

/** Reviews of a workspace, or of every one: those that are under way, or all. Newest first. */
export const listReviews = operation({
  name: 'list_reviews',
  route: 'GET /reviews',
  agents: null,
  tool: null,
  input: z.strictObject({
    workspace: z.string().optional(),
    isOpen: z.literal(true).optional(),
    limit: z.number().int().min(1).max(1000).default(100),
  }),
  output: z.object({ reviews: z.array(ShownReview) }),
  async run({ services }, { limit, ...filter }) {
    const reviews = await services.store.reviews({ ...filter, limit: MOST });
    const newest = reviews.slice(-limit).reverse();
    return { reviews: await Promise.all(newest.map(review => shownReview(services, review))) };
  },
});
