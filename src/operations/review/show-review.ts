import { z } from 'zod';
import { ShownRun, shownRun } from '../../schema/run.ts';
import { operation } from '../operation.ts';
import { findRun } from '../runs/find.ts';
import { ShownReview, ShownRounds, shownReview } from './shown-review.ts';

const MOST = 10_000;

/** All rounds of the task a run belongs to, whether it is its coder, a reviewer or a later try. */
export const showReview = operation({
  name: 'show_review',
  route: 'GET /runs/{run}/reviews',
  agents: null,
  tool: null,
  input: z.strictObject({ run: z.string() }),
  output: z.object({ run: ShownRun, rounds: ShownRounds, reviews: z.array(ShownReview) }),
  async run({ services }, input) {
    const run = await findRun(services, input.run);
    const { lineageId } = run;
    const reviews = await services.store.reviews({ lineageId, limit: MOST });
    return {
      run: shownRun(run),
      rounds: { lineageId, ...(await services.reviews.rounds(lineageId)) },
      reviews: await Promise.all(reviews.map(review => shownReview(services, review))),
    };
  },
});
