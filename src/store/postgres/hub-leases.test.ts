import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Change } from '../../core/ports/store.ts';
import { lossyWay } from '../fixtures/lossy-way.ts';
import {
  aChat,
  activity,
  anIntent,
  anItem,
  aReview,
  aRun,
  aSquad,
  aTurn,
  started,
} from '../fixtures/sample-rows.ts';
import { newSchema, query } from '../fixtures/temp-database.ts';
import { openStore } from '../open.ts';

async function open(database: string, id: string) {
  const home = { id, home: `/home/${id}` };
  const store = await openStore({ database, version: '1.2.3', home, busyRetryMs: 10_000 });
  onTestFinished(() => store.close());
  return { ...store, leases: store.hubLeases! };
}

const NOW = { silentMs: 0, all: true };

/** A hub `one` with everything that belongs to a running run, a queued run, and a run on another machine. */
async function withRuns() {
  const database = await newSchema();
  const one = await open(database, 'one');
  const squad = aSquad();
  const running = aRun(squad, { status: 'running', chatId: 'chat 1' });
  const queued = aRun(squad, { status: 'queued', position: 1 });
  const { options } = running;
  const onBox = aRun(squad, { status: 'running', position: 2, options: { ...options, machine: 'box' } });
  const ended = aRun(squad, { status: 'completed', position: 3, endedAt: 5 });
  const here = { ...options, machine: null };
  for (const run of [running, queued, ended]) run.options = here;
  const stored: Change = {
    ...{ squads: [squad], runs: [running, queued, onBox, ended], turns: [aTurn(running), aTurn(onBox)] },
    ...{ chats: [aChat(running)], reviews: [aReview(running, queued)], inbox: [anItem(running)] },
    ...{ intents: [anIntent('of one')], events: [started(running), started(onBox)] },
  };
  await one.commit(stored);
  await one.leases.beat(15_000);
  return { database, one, running, queued, onBox, ended, stored };
}

const owners = async (database: string, table: string) =>
  (await query(database, `select distinct hub from ${table} order by hub`)).map(({ hub }) => hub);

/** The same database for a user who cannot end sessions of others. */
async function asOtherUser(database: string): Promise<string> {
  const url = new URL(database);
  const user = `user_${randomBytes(6).toString('hex')}`;
  await query(
    database,
    `create role ${user} login password '${user}';
     do $$ begin
       execute format('grant all on schema %I to ${user}', current_schema());
       execute format('grant all on all tables in schema %I to ${user}', current_schema());
       execute format('grant all on all sequences in schema %I to ${user}', current_schema());
     end $$`,
  );
  onTestFinished(async () => {
    await query(database, `drop owned by ${user}; drop role ${user}`);
  });
  url.username = user;
  url.password = user;
  return url.href;
}

describe('leases of hubs', { tags: ['H6'] }, () => {
  test('a heartbeat says when, with which lease and how right the clock is, and ends with a hub that leaves no runs', async () => {
    const database = await newSchema();
    const [one, two] = [await open(database, 'one'), await open(database, 'two')];
    expect(await one.leases.hubs()).toMatchObject([
      {
        id: 'one',
        isOwn: true,
        home: '/home/one',
        attempt: 1,
        version: '1.2.3',
        silentMs: null,
        leaseMs: null,
      },
      { id: 'two', isOwn: false },
    ]);
    expect(await one.leases.beat(15_000)).toBe(true);
    const [seen] = await two.leases.hubs();
    expect(seen).toMatchObject({ id: 'one', isOwn: false, leaseMs: 15_000 });
    expect(seen!.silentMs).toBeGreaterThanOrEqual(0);
    expect(Math.abs(seen!.clockAheadMs!)).toBeLessThan(60_000);
    await one.close();
    expect((await two.leases.hubs())[0]).toMatchObject({ id: 'one', silentMs: null });
  });

  test('of two hubs one takes over, with all rows of the runs, and the lost hub writes nothing more', async () => {
    const { database, one, running, queued, onBox, ended } = await withRuns();
    const [two, three] = [await open(database, 'two'), await open(database, 'three')];
    const taken = await Promise.all([two, three].map(hub => hub.leases.takeOver('one', NOW)));
    const [winner, loser] = taken[0]?.runs.length ? [two, three] : [three, two];
    const found = taken.filter(each => each !== null && each.runs.length > 0);
    expect(found).toHaveLength(1);
    expect(new Set(found[0]!.runs)).toEqual(new Set([running.id, queued.id]));
    expect(found[0]!.intents).toEqual(['of one']);
    expect((await winner.liveRuns()).map(({ id }) => id)).toEqual([running.id, queued.id]);
    expect(await winner.intents()).toHaveLength(1);
    expect(await winner.inboxItems({ state: 'open', limit: 9 })).toHaveLength(1);
    expect(await winner.reviews({ isOpen: true, limit: 9 })).toHaveLength(1);
    expect(await loser.liveRuns()).toEqual([]);
    expect(await winner.leases.takeOver('one', NOW)).toEqual({ runs: [], intents: [] });
    await winner.commit({
      runs: [{ ...running, status: 'lost', endedAt: 9 }],
      turns: [aTurn(running, { endedAt: 9 })],
      chats: [{ ...aChat(running), runId: null }],
      events: [activity(running, 'lost')],
    });

    // The lost hub comes back: it can neither write nor renew its lease.
    const refused = { code: 'DATABASE_FAILED', message: expect.stringContaining('took over its runs') };
    await expect(one.commit({ events: [activity(running, 'late')] })).rejects.toMatchObject(refused);
    expect(await one.leases.beat(15_000)).toBe(false);
    // The next hub of its home has what was not taken.
    const next = await open(database, 'one');
    expect((await next.liveRuns()).map(({ id }) => id)).toEqual([onBox.id]);
    expect(await next.leases.beat(15_000)).toBe(true);
    expect((await next.endedBefore(9, 9)).map(({ id }) => id)).toEqual([ended.id]);
  });

  test('nothing is taken from a hub with a new heartbeat, without a lease, or with nothing to take', async () => {
    const { database, one } = await withRuns();
    const two = await open(database, 'two');
    expect(await two.leases.takeOver('one', { ...NOW, silentMs: 3_600_000 })).toBeNull();
    expect(await two.leases.takeOver('two', NOW)).toBeNull();
    await one.leases.beat(null);
    expect(await two.leases.takeOver('one', NOW)).toBeNull();
    await two.leases.beat(15_000);
    expect(await one.leases.takeOver('two', NOW)).toEqual({ runs: [], intents: [] });
    expect(await one.leases.beat(15_000)).toBe(true);
    expect(await two.leases.beat(15_000)).toBe(true);
  });

  test('a run that ends while its hub is being cut off stays with the files of that hub', async () => {
    const { database, one, running, queued } = await withRuns();
    const two = await open(await asOtherUser(database), 'two');
    const taking = two.leases.takeOver('one', NOW);
    // The other hub has been asked to end its session, and has not ended it yet.
    const isWaiting = `like 'squad two %' and query like '%pg_try_advisory_xact_lock%'`;
    await expect
      .poll(() => query(database, `select pid from pg_stat_activity where application_name ${isWaiting}`), {
        interval: 20,
      })
      .toHaveLength(1);
    const ended = { ...running, status: 'completed' as const, endedAt: 9 };
    await one.commit({ runs: [ended], turns: [aTurn(running, { endedAt: 9 })], events: [] });
    await query(
      database,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'squad one %'`,
    );
    expect(await taking).toMatchObject({ runs: [queued.id] });
    expect((await two.liveRuns()).map(({ id }) => id)).toEqual([queued.id]);
    const next = await open(database, 'one');
    expect((await next.endedBefore(10, 9)).map(({ id }) => id)).toContain(running.id);
    await next.commit({ runs: [{ ...ended, notes: ['seen'] }], events: [] });
  });

  test('a takeover whose commit gets no answer is known to the hub that has the runs', async () => {
    const { database, running, queued } = await withRuns();
    const way = await lossyWay(database);
    const two = await open(way.url, 'two');
    way.isLossy = true;
    const taken = await two.leases.takeOver('one', NOW);
    expect(way.isLossy).toBe(false);
    expect(new Set(taken?.runs)).toEqual(new Set([running.id, queued.id]));
    expect(taken?.intents).toEqual(['of one']);
    expect((await two.liveRuns()).map(({ id }) => id)).toEqual([running.id, queued.id]);
  });

  test('of two hubs that start a run on one chat, one is refused, and stores nothing of it', async () => {
    const database = await newSchema();
    const hubs = [await open(database, 'one'), await open(database, 'two')];
    const starts = hubs.map(hub => {
      const squad = aSquad();
      const run = aRun(squad, { chatId: 'chat 1', chatIsNew: false, status: 'queued' });
      return hub.commit({
        squads: [squad],
        runs: [run],
        chats: [{ ...aChat(run), id: 'chat 1', runId: run.id }],
        events: [started(run)],
      });
    });
    const results = await Promise.allSettled(starts);
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refused = results.find(({ status }) => status === 'rejected');
    expect(refused).toMatchObject({ reason: { code: 'RUN_ELSEWHERE' } });
    expect(await query(database, 'select count(*) as n from runs')).toEqual([{ n: 1 }]);
  });

  test('without the files of the lost hub only runs with an agent are taken, and given back when they have ended', async () => {
    const { database, running, queued } = await withRuns();
    const two = await open(database, 'two');
    const taken = await two.leases.takeOver('one', { ...NOW, all: false });
    expect(taken).toEqual({ runs: [running.id], intents: [] });
    expect((await two.liveRuns()).map(({ id }) => id)).toEqual([running.id]);
    const lost = { ...running, status: 'lost' as const, endedAt: 9 };
    await two.commit({ runs: [lost], chats: [{ ...aChat(running), runId: null }], events: [] });
    await two.leases.giveBack([running.id], 'one');
    for (const table of ['runs', 'turns', 'chats', 'inbox', 'reviews', 'intents'])
      expect(await owners(database, table)).toEqual(['one']);
    const one = await open(database, 'one');
    expect((await one.liveRuns()).map(({ id }) => id)).toContain(queued.id);
    await one.commit({ runs: [{ ...lost, notes: ['seen'] }], events: [] });
  });
});
