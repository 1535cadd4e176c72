import { z } from 'zod';
import { RunId } from '../../schema/ids.ts';
import { type Run, ShownStatus, TakesUp } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';
import { asItIsNow } from './find.ts';

const MOST_TRIES = 1000;

const Try = z.object({
  runId: RunId,
  by: TakesUp.shape.by,
  /** Null: there is no record of it any more. */
  status: ShownStatus.nullable(),
});

/** A run among those that had its task before and since. */
export const Tries = z.object({
  /** The one that it takes up again. */
  of: Try.nullable(),
  /** Those that took it up again, oldest first. */
  since: z.array(Try),
});
export type Tries = z.infer<typeof Tries>;

export async function triesOf(services: Services, run: Run): Promise<Tries> {
  const { store } = services;
  const { takesUp } = run.options;
  const [before, lineage] = await Promise.all([
    takesUp && store.run(takesUp.runId),
    store.runs({ lineageId: run.lineageId, limit: MOST_TRIES }),
  ]);
  const later = lineage.filter(({ options }) => options.takesUp?.runId === run.id).reverse();
  const since = later.map(async row => {
    const status = shownStatus(await asItIsNow(services, row));
    return { runId: row.id, by: row.options.takesUp!.by, status };
  });
  return {
    of: takesUp && { ...takesUp, status: before && shownStatus(await asItIsNow(services, before)) },
    since: await Promise.all(since),
  };
}
