import { expect, test } from 'vitest';
import type { EventFilter } from '../core/ports/store.ts';
import type { Services } from '../operations/operation.ts';
import type { Event } from '../schema/event.ts';
import type { LiveMessage } from '../schema/live.ts';
import { LiveFeed } from './live-feed.ts';
import type { LivePage } from './live-page.ts';

const event = (seq: number): Event => ({
  ...{ seq, at: 1, runId: null, squadId: null },
  body: { type: 'setting.changed', key: 'x', value: String(seq) },
});

/** A store in which something happens at the very moment it is asked. */
function eventful(stored: Event[], meanwhile: (filter: EventFilter) => Event[]) {
  const listeners = new Set<(events: Event[]) => void>();
  const happens = (events: Event[]) => {
    stored.push(...events);
    for (const listener of listeners) listener(events);
  };
  const store = {
    onEvents: (listener: (events: Event[]) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    events: async (filter: EventFilter) => {
      happens(meanwhile(filter));
      if (filter.reverse) return stored.slice(-1);
      return stored.filter(({ seq }) => seq > (filter.after ?? 0));
    },
  };
  const services = { store, hub: { status: () => ({ startedAt: 1 }) }, clock: { now: () => 1 } };
  const feed = new LiveFeed(
    {
      services: services as unknown as Services,
      touchedRuns: async () => [],
      cardsOf: async () => [],
      version: '1',
      log: () => {},
    },
    { flushMs: 1, beatMs: 60_000 },
  );
  return { feed, happens, listeners };
}

function reader() {
  const told: LiveMessage[] = [];
  const page = { send: (message: Buffer) => told.push(JSON.parse(String(message))) } as unknown as LivePage;
  const seqs = () =>
    told.flatMap(message => (message.type === 'changes' ? message.events.map(({ seq }) => seq) : []));
  return { page, told, seqs };
}

test('what happens while the newest number is looked up is told once: it is in that number', async () => {
  const { feed, happens } = eventful([], ({ reverse }) => (reverse ? [event(1)] : []));
  const { page, told, seqs } = reader();
  await feed.join(page, null);
  expect(told).toEqual([{ type: 'hello', version: '1', hubStartedAt: 1, last: 1 }]);
  happens([event(2)]);
  await expect.poll(seqs).toEqual([2]);
});

test('what happens while a page is told what it missed is told once: with what comes next', async () => {
  let isJoining = true;
  const { feed } = eventful([event(1), event(2)], ({ after }) => {
    if (after !== 1 || !isJoining) return [];
    isJoining = false;
    return [event(3)];
  });
  const { page, told, seqs } = reader();
  await feed.join(page, 1);
  expect(seqs()).toEqual([2]);
  await expect.poll(seqs).toEqual([2, 3]);
  expect(told.map(({ type }) => type)).toEqual(['hello', 'changes', 'changes']);
});

test('when nobody is there nothing is listened to', async () => {
  const { feed, listeners } = eventful([event(1)], () => []);
  const [one, other] = [reader(), reader()];
  await Promise.all([feed.join(one.page, null), feed.join(other.page, null)]);
  expect(listeners.size).toBe(1);
  feed.leave(one.page);
  feed.leave(other.page);
  await expect.poll(() => listeners.size).toBe(0);
  await feed.join(one.page, null);
  expect(listeners.size).toBe(1);
  feed.leave(one.page);
});
