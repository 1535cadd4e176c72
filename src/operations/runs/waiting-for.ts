import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';

/** Results have a size to keep. */
const MOST_NAMED = 3;
const MOST_ROUNDS = 10_000;

/** What runs wait for that have asked for a review, in words. */
export async function waitingFor(
  services: Pick<Services, 'store' | 'reviews'>,
  runs: readonly Run[],
): Promise<string[]> {
  const waiting = runs.filter(({ status }) => status === 'waiting_review').slice(0, MOST_NAMED);
  return Promise.all(waiting.map(run => wordsFor(services, run)));
}

async function wordsFor({ store, reviews }: Pick<Services, 'store' | 'reviews'>, run: Run): Promise<string> {
  const last = (await store.reviews({ coderId: run.id, limit: MOST_ROUNDS })).at(-1);
  if (!last) return `${run.id} waits for a review.`;
  const { max } = await reviews.rounds(run.lineageId);
  return last.outcome === null
    ? `${run.id} waits for review ${last.iteration} of ${max} by ${last.reviewerId}.`
    : `Review ${last.iteration} of ${max} of ${run.id} is over (${last.outcome}); it goes on when its turn has ended.`;
}
