import { FAILURES } from '../../core/runs/need.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';

/** Tries of one task that somebody may have in sight. */
const MOST_TRIES = 50;

/** Every run whose card may be another after these events, as it is now. */
export async function touchedRuns(
  { runner, store }: Pick<Services, 'runner' | 'store'>,
  events: readonly Event[],
): Promise<Run[]> {
  const touched = new Map<RunId, Run>();
  for (const { runId, body } of events)
    for (const id of [runId, 'reviewerId' in body ? body.reviewerId : null]) {
      if (id === null || touched.has(id)) continue;
      const run = runner.current(id) ?? (await store.run(id));
      if (run) touched.set(id, run);
    }
  // Neither a failure nor a run at its review limit needs anybody once its task is taken up again, and no event of its own says so.
  const begun = events.filter(({ body }) => body.type === 'run.queued' && body.turn === undefined);
  for (const { runId } of begun) {
    const run = runId === null ? undefined : touched.get(runId);
    if (!run || run.lineageId === run.id) continue;
    const { lineageId } = run;
    for (const left of await store.runs({ lineageId, status: [...FAILURES, 'completed'], limit: MOST_TRIES }))
      if (!touched.has(left.id) && (left.status !== 'completed' || isAtReviewLimit(left)))
        touched.set(left.id, left);
  }
  return [...touched.values()];
}
