import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { Event } from '../schema/event.ts';
import { newRunId } from '../schema/ids.ts';
import { openForTest, openWatched } from './fixtures/open-for-test.ts';
import { activity, aRun, aSquad, aTurn, started } from './fixtures/sample-rows.ts';
import { onPostgres, tempDatabase } from './fixtures/temp-database.ts';
import { openStore } from './open.ts';

describe('order', () => {
  test('changes given at once are applied, numbered and settled in the order given', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const runs = Array.from({ length: 1300 }, (_, position) => aRun(squad, { position }));
    const settled: number[] = [];
    await Promise.all([
      store.commit({ squads: [squad], events: [] }),
      ...runs.map((run, at) =>
        // Some may wait for company and some may not: neither overtakes the other.
        store
          .commit(
            at % 3 ? { events: [activity(run, String(at))] } : { runs: [run], events: [started(run, at)] },
          )
          .then(() => settled.push(at)),
      ),
    ]);
    const events = await store.events({ limit: 2000 });
    expect(events.map(event => event.runId)).toEqual(runs.map(run => run.id));
    expect(settled).toEqual(runs.map((_, at) => at));
  });

  test('the last of several changes to one row stands', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const run = aRun(squad);
    const changes = Array.from({ length: 50 }, (_, depth) => ({ runs: [{ ...run, depth }], events: [] }));
    await Promise.all([{ squads: [squad], events: [] }, ...changes].map(change => store.commit(change)));
    expect((await store.run(run.id))?.depth).toBe(49);
  });
});

describe('transactions', () => {
  test('changes given together share one; news of activity waits for company', async () => {
    const { store, transactions } = await openWatched(await tempDatabase(), 1000);
    const run = aRun(aSquad());
    await Promise.all(Array.from({ length: 100 }, () => store.commit({ events: [started(run)] })));
    expect(transactions()).toBe(1);

    const first = store.commit({ events: [activity(run, 'one')] });
    await new Promise(resolve => setImmediate(resolve));
    await Promise.all([first, store.commit({ events: [activity(run, 'two')] })]);
    expect(transactions()).toBe(2);
  });

  test('an urgent change does not wait for the company activity waits for, and takes it along', async () => {
    const { store, transactions } = await openWatched(await tempDatabase(), 1000);
    const run = aRun(aSquad());
    const waiting = store.commit({ events: [activity(run, 'one')] });
    const urgent = store.commit({ events: [started(run)] });
    const next = new Promise(resolve => setImmediate(() => setImmediate(resolve))).then(() => 'later');
    // Only SQLite writes without waiting for anybody.
    if (!onPostgres) expect(await Promise.race([urgent.then(() => 'now'), next])).toBe('now');
    await waiting;
    expect(transactions()).toBe(1);
    expect((await store.events({ limit: 9 })).map(event => event.body.type)).toEqual([
      'run.activity',
      'run.started',
    ]);
  });
});

describe('a change the database refuses', () => {
  test('is rejected whole and alone', { tags: ['D7'] }, async () => {
    const store = await openForTest(await tempDatabase());
    const [squad, other] = [aSquad(), aSquad()];
    const [before, after] = [aRun(squad), aRun(squad)];
    const stray = aRun(aSquad());
    const told: Event[] = [];
    store.onEvents(events => told.push(...events));
    const outcome = await Promise.allSettled([
      store.commit({ squads: [squad], runs: [before], events: [started(before)] }),
      store.commit({ squads: [other], runs: [stray], events: [started(stray)] }),
      store.commit({ turns: [aTurn(aRun(squad))], events: [] }),
      store.commit({ squads: [aSquad({ workspace: null as never })], events: [] }),
      store.commit({ squads: [aSquad({ metadata: { big: 1n } })], events: [] }),
      store.commit({ squads: [aSquad({ createdAt: true as never })], events: [] }),
      store.commit({ runs: [after], events: [started(after)] }),
    ]);
    expect(outcome.map(result => result.status)).toEqual([
      'fulfilled',
      ...Array(5).fill('rejected'),
      'fulfilled',
    ]);
    for (const result of outcome)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'DATABASE_FAILED' });
    expect(await store.squad(other.id)).toBeNull();
    expect(await store.run(stray.id)).toBeNull();
    expect((await store.events({ limit: 9 })).map(event => event.runId)).toEqual([before.id, after.id]);
    expect(told).toEqual(await store.events({ limit: 9 }));
  });

  test('is reported in its turn, not before the changes it waited with', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const order: string[] = [];
    await Promise.allSettled([
      store.commit({ squads: [squad], events: [] }).then(() => order.push('first')),
      store.commit({ turns: [aTurn(aRun(squad))], events: [] }).catch(() => order.push('refused')),
      store.commit({ runs: [aRun(squad)], events: [] }).then(() => order.push('last')),
    ]);
    expect(order).toEqual(['first', 'refused', 'last']);
  });
});

describe('listeners', () => {
  test('hear of events in order, numbered, once they can be read, until they stop', async () => {
    const store = await openForTest(await tempDatabase());
    const run = aRun(aSquad());
    const heard: Event[] = [];
    const readable: Promise<number>[] = [];
    const stop = store.onEvents(events => {
      heard.push(...events);
      readable.push(store.events({ after: events[0]!.seq - 1, limit: 9 }).then(found => found.length));
    });
    await Promise.all([
      store.commit({ events: [started(run), activity(run, 'a')] }),
      store.commit({ squads: [aSquad()], events: [] }),
      store.commit({ events: [activity(run, 'b')] }),
    ]);
    expect(heard).toEqual(await store.events({ limit: 9 }));
    expect(heard.map(event => event.seq)).toEqual([1, 2, 3]);
    expect(await Promise.all(readable)).toEqual([3, 1]);
    stop();
    await store.commit({ events: [started(run)] });
    expect(heard).toHaveLength(3);
  });

  test('a listener that throws harms neither the others nor the change, and is logged', async () => {
    const store = await openForTest(await tempDatabase());
    const heard: number[] = [];
    const warned = once(process, 'warning');
    store.onEvents(() => {
      throw new Error('a broken listener');
    });
    store.onEvents(events => heard.push(...events.map(event => event.seq)));
    await store.commit({ events: [started(aRun(aSquad()))] });
    await store.commit({ events: [started(aRun(aSquad()))] });
    expect(heard).toEqual([1, 2]);
    expect((await warned)[0]).toMatchObject({ message: 'a broken listener' });
  });
});

describe('the end', () => {
  test('flush settles once everything given so far is written', async () => {
    const store = await openForTest(await tempDatabase());
    await store.flush();
    void store.commit({ events: [activity(aRun(aSquad()), 'a')] });
    await store.flush();
    expect(await store.events({ limit: 9 })).toHaveLength(1);
  });

  test('closing writes what is queued; after it every call says so', async () => {
    const file = await tempDatabase();
    const store = await openStore({ database: file, version: '1.2.3' });
    const run = aRun(aSquad());
    const queued = store.commit({ events: [activity(run, 'a')] });
    const closed = store.close();
    const late = store.commit({ events: [activity(run, 'b')] });
    await expect(late).rejects.toMatchObject({ code: 'DATABASE_FAILED' });
    await expect(store.run(newRunId())).rejects.toMatchObject({ code: 'DATABASE_FAILED' });
    await queued;
    await closed;
    await store.close();
    const again = await openForTest(file);
    expect(await again.events({ limit: 9 })).toHaveLength(1);
  });

  test('closing lets reads that have begun finish', async () => {
    const store = await openStore({ database: await tempDatabase(), version: '1.2.3' });
    const reading = Array.from({ length: 20 }, () => store.liveRuns());
    await store.close();
    expect(await Promise.all(reading)).toEqual(Array(20).fill([]));
  });
});
