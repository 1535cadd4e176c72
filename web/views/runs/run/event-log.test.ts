import { expect, test } from 'vitest';
import type { Event } from '../../../../src/schema/event.ts';
import { type EventLog, MAX_HELD, NO_EVENTS, withNewer, withNewest, withOlder } from './event-log.ts';

const event = (seq: number): Event => ({
  ...{ seq, at: seq, squadId: null, runId: 'run_0000000000' as Event['runId'] },
  body: { type: 'run.activity', kind: 'text', text: String(seq) },
});
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => event(from + at));
const page = (from: number, to: number, next: number | null) => ({ events: range(from, to).reverse(), next });
const seqs = ({ events }: EventLog) => [events[0]?.seq, events.at(-1)?.seq, events.length];

test('the first page, what came meanwhile and older ones are one list', () => {
  const first = withNewest(withNewer(NO_EVENTS, range(20, 22)), page(10, 20, 10), null);
  expect([...seqs(first), first.next]).toEqual([10, 22, 13, 10]);
  const older = withOlder(first, page(1, 9, null));
  expect([...seqs(older), older.next]).toEqual([1, 22, 22, null]);
});

test('a page that reaches back to what was known fills what was missed', () => {
  const log = withNewer(withNewest(NO_EVENTS, page(1, 5, null), null), range(18, 20));
  const filled = withNewest(log, page(4, 20, 4), 5);
  expect([...seqs(filled), filled.next]).toEqual([1, 20, 20, null]);
});

test('a page that does not leaves no gap: what is before it is to be asked for again', () => {
  const log = withNewer(withNewest(NO_EVENTS, page(1, 5, null), null), range(900, 905));
  const anew = withNewest(log, page(400, 903, 400), 5);
  expect([...seqs(anew), anew.next]).toEqual([400, 905, 506, 400]);
});

test('an event that was dropped for its number can be requested again', () => {
  const log = withNewer({ events: range(1, MAX_HELD), next: null }, range(MAX_HELD + 1, MAX_HELD + 3));
  expect([...seqs(log), log.next]).toEqual([4, MAX_HELD + 3, MAX_HELD, 4]);
});
