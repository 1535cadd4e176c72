import { expect, test } from 'vitest';
import type { EventFilter } from '../core/ports/store.ts';
import type { UserServices } from '../operations/operation.ts';
import type { Event } from '../schema/event.ts';
import type { LiveMessage } from '../schema/live.ts';
import { LiveFeed } from './live-feed.ts';
import type { LiveClient } from './live-socket.ts';

const event = (seq: number): Event => ({
  ...{ seq, at: 1, runId: null, squadId: null },
  body: { type: 'setting.changed', key: 'x', value: String(seq) },
});

/** A store in which something happens at the very moment it is asked. */
function eventful(
  stored: Event[],
  meanwhile: (filter: EventFilter) => Event[],
  touchedRuns: () => Promise<[]> = async () => [],
) {
  const listeners = new Set<(events: Event[]) => void>();
  const happens = (events: Event[]) => {
    stored.push(...events);
    for (const listener of listeners) listener(events);
  };
  const store = {
    follow: async (listener: (events: Event[]) => void) => {
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
      services: services as unknown as UserServices,
      touchedRuns,
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
  const send = (message: Buffer) => told.push(JSON.parse(String(message)));
  // A feed lives on after its test, until the process ends.
  const page = { send, beat: () => {} } as unknown as LiveClient;
  const seqs = () =>
    told.flatMap(message => (message.type === 'changes' ? message.events.map(({ seq }) => seq) : []));
  return { page, told, seqs };
}

test('an event during the lookup of the newest number is sent once: that number includes it', async () => {
  const { feed, happens } = eventful([], ({ reverse }) => (reverse ? [event(1)] : []));
  const { page, told, seqs } = reader();
  await feed.join(page, null);
  expect(told).toEqual([{ type: 'hello', version: '1', hubStartedAt: 1, last: 1 }]);
  happens([event(2)]);
  await expect.poll(seqs).toEqual([2]);
});

test('an event while a client catches up is sent once: with the next changes', async () => {
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

test('without clients the feed does not listen to the store', async () => {
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

test('a client that is reset while changes are computed gets these changes once, after the reset', async () => {
  const working = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const { feed, happens } = eventful(
    [],
    () => [],
    async () => {
      working.resolve();
      await go.promise;
      return [];
    },
  );
  const { page, told } = reader();
  await feed.join(page, null);
  happens([event(1)]);
  await working.promise;
  page.send(feed.reset('it was slow'));
  go.resolve();
  await expect.poll(() => told.at(-1)?.type).toBe('changes');
  expect(told.slice(1)).toMatchObject([
    { type: 'reset', last: 0 },
    { type: 'changes', last: 1, events: [{ seq: 1 }] },
  ]);
});

test('after the store failed for the first client, the feed reads it again for the next', async () => {
  let isBroken = true;
  const { feed, happens, listeners } = eventful([event(7)], () => {
    if (isBroken) throw new Error('the disk');
    return [];
  });
  const { page, told, seqs } = reader();
  await expect(feed.join(page, null)).rejects.toThrow('the disk');
  expect(listeners.size).toBe(0);
  isBroken = false;
  await feed.join(page, null);
  expect(told).toMatchObject([{ type: 'hello', last: 7 }]);
  happens([event(8)]);
  await expect.poll(seqs).toEqual([8]);
});

test('changes too large for one message are a reset, for connected clients and for those that connect later', async () => {
  const large = (seq: number): Event => ({
    ...event(seq),
    body: { type: 'setting.changed', key: 'x', value: 'x'.repeat(5 * 1024 * 1024) },
  });
  const { feed, happens } = eventful([event(1)], () => []);
  const [one, late] = [reader(), reader()];
  await feed.join(one.page, null);
  happens([large(2)]);
  await expect.poll(() => one.told.at(-1)).toMatchObject({ type: 'reset', last: 2 });
  await feed.join(late.page, 1);
  expect(late.told).toMatchObject([{ type: 'hello' }, { type: 'reset', last: 2 }]);
});
