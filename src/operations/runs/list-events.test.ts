import { beforeEach, expect, test } from 'vitest';
import type { z } from 'zod';
import { activity } from '../../store/fixtures/sample-rows.ts';
import { BoardHub } from '../testing/board-hub.ts';
import { listEvents } from './events.ts';

type Page = z.output<typeof listEvents.output>;

let hub: BoardHub;
beforeEach(async () => {
  hub = await BoardHub.open();
});
const events = (input: object = {}) => hub.ask<Page>(listEvents, input);
const numbers = (page: Page) => page.events.map(({ seq }) => seq);

test('paging backwards shows each event once', async () => {
  const [one, other] = [hub.run({ status: 'running' }), hub.run({ status: 'running' })];
  await hub.put(one, other);
  for (let i = 0; i < 5; i++) await hub.store.commit({ events: [activity(one, 'a'), activity(other, 'b')] });
  const first = await events({ run: one.id, limit: 3 });
  expect(numbers(first)).toEqual([9, 7, 5]);
  expect(first.next).toBe(5);
  const second = await events({ run: one.id, limit: 3, before: first.next });
  expect(numbers(second)).toEqual([3, 1]);
  expect(second.next).toBeNull();
  expect(numbers(await events({ squad: hub.squad.id, after: 7 }))).toEqual([10, 9, 8]);
  expect(numbers(await events({ limit: 5, after: 5 }))).toEqual([10, 9, 8, 7, 6]);
  expect((await events({ limit: 5, after: 5 })).next).toBeNull();
});

test('only events of the types asked for are shown, and a type there is not is refused', async () => {
  const run = hub.run({ status: 'running' });
  await hub.put(run);
  await hub.store.commit({
    events: [
      activity(run, 'a'),
      { at: 1, runId: null, squadId: null, body: { type: 'hub.stopped', reason: 'x' } },
    ],
  });
  expect(numbers(await events({ types: ['hub.stopped'] }))).toEqual([2]);
  await expect(events({ types: ['hub.stoped'] })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(events({ run: 'run_zzzzzzzzzz' })).rejects.toMatchObject({ code: 'RUN_UNKNOWN' });
});
