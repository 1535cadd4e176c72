import { expect, test } from 'vitest';
import type { Event } from '../../src/schema/event.ts';
import { sampleCard } from '../testing/sample-card.ts';
import { Pending } from './pending.ts';

const events = (count: number): Event[] =>
  Array.from({ length: count }, (_, seq) => ({
    seq,
    at: 0,
    runId: null,
    squadId: null,
    body: { type: 'hub.stopped', reason: 'test' },
  }));

test('the last word on a run is the one that is taken', () => {
  const pending = new Pending();
  pending.add({ events: [], runs: [sampleCard({ id: 'a', turn: 1 })], inbox: [] });
  pending.add({ events: events(1), runs: [sampleCard({ id: 'a', turn: 2 })], inbox: [] });
  const { runs, events: taken, isReset } = pending.take();
  expect(runs.map(({ turn }) => turn)).toEqual([2]);
  expect(taken).toHaveLength(1);
  expect(isReset).toBe(false);
});

test('a taken item is not taken again', () => {
  const pending = new Pending();
  pending.add({ events: events(1), runs: [sampleCard({ id: 'a' })], inbox: [] });
  pending.reset();
  pending.take();
  expect(pending.take()).toEqual({ events: [], runs: [], inbox: [], isReset: false });
});

test('a hidden tab keeps a limited list of events and reloads when it is over the limit', () => {
  const pending = new Pending();
  for (let round = 0; round < 30; round++) pending.add({ events: events(100), runs: [], inbox: [] });
  const { events: kept, isReset } = pending.take();
  expect(isReset).toBe(true);
  expect(kept.length).toBeLessThanOrEqual(2000);
});
