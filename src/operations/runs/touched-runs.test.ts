import { expect, test } from 'vitest';
import type { Event, EventBody } from '../../schema/event.ts';
import { aReview } from '../../store/fixtures/sample-rows.ts';
import { BoardHub } from '../testing/board-hub.ts';
import { touchedRuns } from './run-card.ts';

const queued: EventBody = { type: 'run.queued', roleId: null, engine: 'scripted' };

test('a retry changes how the earlier failure is shown; another turn of a run does not', async () => {
  const hub = await BoardHub.open();
  const failed = hub.run({ status: 'error' });
  const retry = hub.run({ status: 'queued', lineageId: failed.lineageId });
  await hub.put(failed, retry);
  const event = (body: EventBody): Event => ({
    seq: 1,
    at: 1,
    runId: retry.id,
    squadId: retry.squadId,
    body,
  });
  const ids = async (body: EventBody) =>
    (await touchedRuns(hub.services, [event(body), event(body)])).map(({ id }) => id);
  expect(await ids(queued)).toEqual([retry.id, failed.id]);
  expect(await ids({ ...queued, turn: 2 })).toEqual([retry.id]);
});

test('a review changes the coder and its reviewer; what is forgotten by now is not there', async () => {
  const hub = await BoardHub.open();
  const [coder, reviewer, gone] = [hub.run({ status: 'running' }), hub.run({ status: 'running' }), hub.run()];
  await hub.put(coder, reviewer);
  const { id: reviewId } = aReview(coder, reviewer);
  const asked: EventBody = {
    ...{ type: 'review.requested', reviewId, reviewerId: reviewer.id, iteration: 1, commit: 'c' },
  };
  const of = { seq: 1, at: 1, squadId: null };
  const found = await touchedRuns(hub.services, [
    { ...of, runId: coder.id, body: asked },
    { ...of, runId: gone.id, body: queued },
    { ...of, runId: null, body: { type: 'hub.stopped', reason: 'x' } },
  ]);
  expect(found).toEqual([coder, reviewer]);
});
