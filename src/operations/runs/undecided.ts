import type { BoardFilter } from '../../core/ports/board-store.ts';
import type { Run } from '../../schema/run.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';

/** Runs that completed at the limit of their reviews, and whose work nobody has decided on yet. Newest first. */
export async function undecidedRuns(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  filter: BoardFilter,
): Promise<Run[]> {
  const runs = (await store.leftWithError(filter, clock.now())).filter(isAtReviewLimit);
  const merges = await Promise.all(
    runs.map(({ id }) => store.events({ runId: id, types: ['branch.integrated'], limit: 1 })),
  );
  return runs.filter((_, at) => merges[at]!.length === 0);
}

/** Those of these runs. */
export async function undecidedAmong(
  services: Pick<Services, 'store' | 'clock'>,
  runs: readonly Run[],
): Promise<Set<Run['id']>> {
  if (!runs.some(isAtReviewLimit)) return new Set();
  return new Set((await undecidedRuns(services, {})).map(({ id }) => id));
}
