import type { RunId } from '../../schema/ids.ts';
import { isEnd } from '../../schema/run.ts';
import { descendantsOf } from '../descendants.ts';
import { closing } from './close-review.ts';
import { EVERY_REVIEW, type ReviewPorts, runNow } from './ports.ts';

/** Gives a task up: whoever is at work on it is stopped. Their work trees go when they have ended, their branches stay. */
export async function abandonLineage(lineageId: RunId, why: string, ports: ReviewPorts): Promise<void> {
  const { store, runner, clock } = ports;
  for (const review of await store.reviews({ lineageId, limit: EVERY_REVIEW })) {
    const coder = review.outcome === null ? await runNow(ports, review.coderId) : null;
    if (coder) await store.commit(closing(review, { outcome: 'cancelled', reason: why }, coder, clock));
  }
  ports.checkpoint('abandon:1');
  const live = runner.liveRuns().filter(run => run.lineageId === lineageId && !isEnd(run.status));
  for (const { id, reviewOf } of live) {
    if (reviewOf === null) runner.note(id, `Given up: ${why}`);
    await runner.stop(id, reviewOf === null ? 'abandon' : 'terminate');
    for (const child of await descendantsOf(store, id))
      if (child.lineageId !== lineageId) await runner.stop(child.id, 'cancel');
  }
}
