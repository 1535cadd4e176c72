import { z } from 'zod';
import { nearest } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { ReviewId } from '../../schema/ids.ts';
import type { Review } from '../../schema/review.ts';
import { operation, type Services } from '../operation.ts';

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
    /** Commits. */
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
        suggestions: [`Git may still have it: git show ${review.commit}`],
      });
    const before = await roundBefore(services, review, coder.worktree.branch);
    const { base, repository } = coder.worktree;
    // The feedback commit of that round is on the branch too, and is not the coder's work.
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
  const near = nearest(given, recent);
  throw new SquadError('REVIEW_UNKNOWN', `There is no review ${given}`, {
    suggestions: [
      near.length > 0 ? `Did you mean ${near.join(' or ')}?` : '`squad review` lists the reviews.',
    ],
  });
}

/** Only on the same branch: a retry begins on another one, which cannot be compared. */
async function roundBefore({ store }: Services, review: Review, branch: string): Promise<Review | null> {
  const rounds = await store.reviews({ lineageId: review.lineageId, limit: MAX_ROUNDS });
  const earlier = rounds.filter(({ iteration }) => iteration < review.iteration).toReversed();
  for (const round of earlier)
    if ((await store.run(round.coderId))?.worktree?.branch === branch) return round;
  return null;
}
