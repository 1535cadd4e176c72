import { expect, test } from 'vitest';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import { openForTest } from '../../store/fixtures/open-for-test.ts';
import { activity, aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { tempDatabase } from '../../store/fixtures/temp-database.ts';
import { LastActivity } from './last-activity.ts';

async function hubWith() {
  const store = await openForTest(await tempDatabase());
  const squad = aSquad();
  const run = aRun(squad, { status: 'running' });
  await store.commit({ squads: [squad], runs: [run], events: [activity(run, 'Before.')] });
  const live = new Set<RunId>([run.id]);
  let lookups = 0;
  const counted = {
    events: (filter: Parameters<typeof store.events>[0]) => {
      lookups++;
      return store.events(filter);
    },
  };
  const last = new LastActivity(counted, id => live.has(id));
  store.onEvents(events => last.take(events));
  return { store, run, live, last, lookups: () => lookups };
}

test('activity under an earlier hub is read from the store, once', async () => {
  const { run, last, lookups } = await hubWith();
  expect(await last.of(run.id)).toMatchObject({ text: 'Before.' });
  expect(await last.of(run.id)).toMatchObject({ text: 'Before.' });
  expect(lookups()).toBe(1);
});

test('current activity is known without reading the store', async () => {
  const { store, run, last, lookups } = await hubWith();
  await store.commit({ events: [activity(run, 'Now.')] });
  expect(await last.of(run.id)).toMatchObject({ text: 'Now.' });
  expect(lookups()).toBe(0);
});

test('nothing is kept of an ended run', async () => {
  const { store, run, live, last, lookups } = await hubWith();
  await last.of(run.id);
  live.delete(run.id);
  const body: EventBody = {
    type: 'run.ended',
    ...{ status: 'completed', exitCode: 0, error: null, usage: null, leftovers: [], durationMs: 1 },
  };
  await store.commit({ events: [{ at: 1, runId: run.id, squadId: run.squadId, body }] });
  await store.commit({ events: [activity(run, 'Late.')] });
  expect(await last.of(run.id)).toBeNull();
  expect(lookups()).toBe(1);
});
