import { hostname } from 'node:os';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
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
  aWorktree,
  started,
} from '../fixtures/sample-rows.ts';
import { newSchema, query } from '../fixtures/temp-database.ts';
import { openStore } from '../open.ts';
import { eventToRow, type Tables } from '../tables.ts';
import { appendEvents, checkVersion } from './open-postgres.ts';

const SHORT_MS = 300;
const home = (id: string) => ({ id, home: `/home/${id}` });

async function open(database: string, id = 'one', busyRetryMs = 10_000) {
  const store = await openStore({ database, version: '1.2.3', home: home(id), busyRetryMs });
  onTestFinished(() => store.close());
  return store;
}

const refusal = (
  database: string,
  id = 'one',
): Promise<{ code: string; message: string; suggestions: string[] }> =>
  open(database, id, SHORT_MS).then(
    () => Promise.reject(new Error('the database was opened')),
    error => error,
  );

/** The server, with other parts of its URL. */
function serverUrl(change: (url: URL) => void): string {
  const url = new URL(inject('postgres')!);
  change(url);
  return url.href;
}

/** Ends all sessions of hubs in this schema, as a restart of the server does. Returns their number. */
async function endSessions(database: string, id: string): Promise<number> {
  const rows = await query(
    database,
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'squad ${id} %'`,
  );
  return rows.length;
}

describe('a database that cannot be used is refused with its reason', () => {
  test('the server does not answer', async () => {
    const url = serverUrl(url => {
      url.port = '1';
    });
    const error = await refusal(url);
    expect(error).toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(error.message).toContain('postgres://127.0.0.1:1/postgres');
    expect(JSON.stringify(error)).not.toContain('squad:squad');
  });

  test('the password is wrong', async () => {
    const url = serverUrl(url => {
      url.password = 'guess';
    });
    expect(await refusal(url)).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('there is no such database, or no such schema', async () => {
    const missing = serverUrl(url => {
      url.pathname = '/nothing';
    });
    expect(await refusal(missing)).toMatchObject({
      code: 'DATABASE_FAILED',
      message: expect.stringContaining('nothing'),
    });
    const noSchema = serverUrl(url => url.searchParams.set('options', '-c search_path=nowhere'));
    expect(await refusal(noSchema)).toMatchObject({
      message: expect.stringContaining('no schema of its search_path exists'),
    });
  });

  test('the server is read-only', async () => {
    const url = serverUrl(url => url.searchParams.set('options', '-c default_transaction_read_only=on'));
    expect(await refusal(url)).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('read-only'),
    });
  });

  test('the server does not have UTF-8', async () => {
    await query(
      inject('postgres')!,
      `create database ascii encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`,
    );
    const url = serverUrl(url => {
      url.pathname = '/ascii';
    });
    expect(await refusal(url)).toMatchObject({
      message: expect.stringContaining('its encoding is SQL_ASCII'),
    });
  });

  test('the server is too old', () => {
    expect(() => checkVersion(130_012, 'here')).toThrow(
      'its server is PostgreSQL 13, and Squad needs 14 or later',
    );
    expect(() => checkVersion(140_000, 'here')).not.toThrow();
  });

  test('a newer Squad has changed it: nothing is touched', async () => {
    const database = await newSchema();
    await (await open(database)).close();
    await query(database, `insert into migrations values ('999-new', 1, '9.9.9')`);
    expect(await refusal(database)).toMatchObject({
      code: 'DATABASE_TOO_NEW',
      message: expect.stringContaining('9.9.9'),
    });
  });
});

describe('several hubs', { tags: ['H6'] }, () => {
  /** Hubs `one` and `two`, with a running run of `one` that has a question, a review and an intent. */
  async function twoHubs() {
    const database = await newSchema();
    const [one, two] = [await open(database, 'one'), await open(database, 'two')];
    const squad = aSquad();
    const run = aRun(squad, { status: 'running', worktree: aWorktree(), engine: 'native', chatId: 'chat 1' });
    const review = aReview(run, run);
    const item = anItem(run);
    const stored: Change = {
      ...{ squads: [squad], runs: [run], turns: [aTurn(run)], chats: [aChat(run)], reviews: [review] },
      ...{ inbox: [item], intents: [anIntent('one')] },
      events: [started(run), { ...started(run), body: { type: 'run.stopping', reason: 'cancel' } }],
    };
    await one.commit(stored);
    return { database, one, two, squad, run, review, item, stored };
  }

  test('what a hub finds to recover, to remove and to answer is its own', async () => {
    const { one, two, run } = await twoHubs();
    const found = async (store: typeof one) => ({
      live: (await store.liveRuns()).length,
      asked: (await store.runsAskedToStop()).size,
      intents: (await store.intents()).length,
      open: (await store.inboxItems({ state: 'open', limit: 9 })).length,
      reviews: (await store.reviews({ isOpen: true, limit: 9 })).length,
      lineages: (await store.reviewedLineages()).length,
      trees: (await store.runs({ hasWorktree: true, limit: 9 })).length,
    });
    const all = { live: 1, asked: 1, intents: 1, open: 1, reviews: 1, lineages: 1, trees: 1 };
    expect(await found(one)).toEqual(all);
    expect(await found(two)).toEqual(Object.fromEntries(Object.keys(all).map(key => [key, 0])));
    expect(await two.run(run.id)).toEqual(run);
    expect(await two.liveElsewhere()).toEqual([run]);
    expect(await one.liveElsewhere()).toEqual([]);
    expect(await two.otherOwner(run.id)).toMatchObject({ home: '/home/one' });
    expect(await one.otherOwner(run.id)).toBeNull();
    await one.commit({ runs: [{ ...run, status: 'completed', endedAt: 5 }], events: [] });
    const ended = async (store: typeof one) => [
      await store.countEndedBefore(9),
      (await store.endedBefore(9, 9)).length,
      (await store.unclosedConversations(9)).length,
    ];
    expect(await ended(one)).toEqual([1, 1, 1]);
    expect(await ended(two)).toEqual([0, 0, 0]);
  });

  test('a change to a row of another hub is refused as a whole, and other changes are written', async () => {
    const { one, two, squad, run, review, item } = await twoHubs();
    const own = aRun(squad, { status: 'queued' });
    const foreign: Partial<Change>[] = [
      { runs: [{ ...run, status: 'lost', endedAt: 5 }] },
      { turns: [aTurn(run, { endedAt: 5 })] },
      { chats: [aChat(own)] },
      { reviews: [{ ...review, outcome: 'cancelled', closedAt: 5 }] },
      { inbox: [{ ...item, state: 'withdrawn' }] },
      { intentsDone: ['one'] },
    ];
    const results = await Promise.allSettled([
      ...foreign.map(rows => two.commit({ runs: [], ...rows, events: [activity(run, 'refused')] })),
      two.commit({ runs: [own], events: [activity(own, 'written')] }),
    ]);
    expect(results.map(({ status }) => status)).toEqual([...foreign.map(() => 'rejected'), 'fulfilled']);
    for (const result of results.slice(0, -1))
      expect(result).toMatchObject({ reason: { code: 'RUN_ELSEWHERE' } });
    await expect(two.forget([run.id])).rejects.toMatchObject({ code: 'RUN_ELSEWHERE' });
    expect(await one.run(run.id)).toEqual(run);
    expect(await one.intents()).toHaveLength(1);
    expect(JSON.stringify(await two.events({ limit: 99 }))).not.toContain('refused');
    expect((await two.liveRuns()).map(({ id }) => id)).toEqual([own.id]);
  });

  test('share limits and budgets; ports and machines are of one hub', async () => {
    const { database, one, two } = await twoHubs();
    await one.setSetting('budget.day_usd', '5');
    await one.setSetting('http.port', '1');
    await two.setSetting('http.port', '2');
    expect(await one.settings()).toEqual({ 'budget.day_usd': '5', 'http.port': '1' });
    expect(await two.settings()).toEqual({ 'budget.day_usd': '5', 'http.port': '2' });
    await two.setSetting('http.port', null);
    expect(await one.settings()).toHaveProperty(['http.port'], '1');
    await two.close();
    expect(await (await open(database, 'two')).settings()).toEqual({ 'budget.day_usd': '5' });
  });

  test('hear of each other: settings and stops, also after a lost connection', async () => {
    const { database, one, two, run } = await twoHubs();
    let heard = 0;
    one.onOtherHub(notice => {
      if (notice === 'changes') heard++;
    });
    await expect.poll(() => heard).toBe(1); // connected
    await one.setSetting('limits.depth', '3');
    await two.setSetting('limits.depth', '4');
    await expect.poll(() => heard).toBe(2);
    await two.requestStop(run.id, 'a terminal');
    await two.requestStop(run.id, 'the web UI');
    await expect.poll(() => heard).toBe(3);
    expect(await one.stopRequests()).toEqual([{ runId: run.id, by: 'a terminal' }]);
    expect(await two.stopRequests()).toEqual([]);
    await endSessions(database, 'one');
    await expect.poll(() => heard).toBe(4);
    await two.setSetting('limits.depth', null);
    await expect.poll(() => heard).toBe(5);
    await one.commit({ runs: [{ ...run, status: 'cancelled', endedAt: 5 }], events: [] });
    expect(await one.stopRequests()).toEqual([]);
  });

  test('follow the events of all hubs in their order, also after a lost connection', async () => {
    const { database, one, two, run } = await twoHubs();
    const heard: number[] = [];
    const stop = await one.follow(events => heard.push(...events.map(({ seq }) => seq)));
    const [newest] = await one.events({ limit: 1, reverse: true });
    const later = async () => (await one.events({ after: newest!.seq, limit: 99 })).map(({ seq }) => seq);
    await Promise.all(
      [one, two, one, two].map(hub => hub.commit({ events: [activity(run, 'a'), activity(run, 'b')] })),
    );
    await expect.poll(() => heard.length).toBe(8);
    await endSessions(database, 'one');
    await two.commit({ events: [activity(run, 'while away')] });
    await expect.poll(() => heard.length).toBe(9);
    expect(heard).toEqual(await later());
    stop();
    await two.commit({ events: [activity(run, 'not followed')] });
    await one.commit({ events: [activity(run, 'not followed')] });
    expect(heard).toHaveLength(9);
  });

  test('are named by host, and by home where a host has several', async () => {
    const { database, one, run } = await twoHubs();
    const name = `${hostname()}:/home/one`;
    expect(await one.hubsOf([run.id])).toEqual(new Map([[run.id, name]]));
    await query(database, "update hubs set host = 'another' where id = 'two'");
    expect(await one.hubsOf([run.id])).toEqual(new Map([[run.id, hostname()]]));
    await query(database, "delete from hubs where id = 'two'");
    expect(await one.hubsOf([run.id])).toEqual(new Map());
  });

  test('write at the same time: no change is lost, and no count is wrong', async () => {
    const database = await newSchema();
    const hubs = await Promise.all(['a', 'b', 'c'].map(id => open(database, id, 60_000)));
    const EACH = 40;
    await Promise.all(
      hubs.flatMap(hub =>
        Array.from({ length: EACH }, async () => {
          const squad = aSquad();
          const runs = [aRun(squad), aRun(squad, { position: 1 })];
          await hub.commit({ squads: [squad], runs, events: runs.map(run => started(run)) });
          const ended = runs.map(run => ({ ...run, status: 'completed' as const, endedAt: 5 }));
          await hub.commit({ runs: ended.toReversed(), events: ended.map(run => activity(run, 'end')) });
        }),
      ),
    );
    const runs = hubs.length * EACH * 2;
    const counts = 'select status, sum(runs) as runs from run_counts group by status';
    expect(await query(database, counts)).toEqual([{ status: 'completed', runs }]);
    expect(await query(database, 'select hub, count(*) as runs from runs group by hub order by hub')).toEqual(
      ['a', 'b', 'c'].map(hub => ({ hub, runs: runs / 3 })),
    );
    expect(await hubs[0]!.events({ limit: 9_999 })).toHaveLength(runs * 2);
  });

  test('another schema of the same database is another database', async () => {
    const [one, two] = [await open(await newSchema(), 'one'), await open(await newSchema(), 'one')];
    await Promise.all([one.setSetting('a', '1'), two.setSetting('a', '2')]);
    expect(await one.settings()).toEqual({ a: '1' });
  });

  test('a session that its own home left behind is ended, and writes nothing more', async () => {
    const database = await newSchema();
    const left = await open(database, 'one', SHORT_MS);
    const next = await open(database, 'one');
    await expect(left.setSetting('a', '1')).rejects.toMatchObject({
      code: 'DATABASE_FAILED',
      message: expect.stringContaining('A later hub of /home/one'),
    });
    await next.setSetting('b', '2');
    expect(await next.settings()).toEqual({ b: '2' });
  });
});

test('connections that are lost while many changes are written: nothing is lost, and nothing twice', async () => {
  const database = await newSchema();
  const store = await open(database, 'lost', 60_000);
  const written: string[] = [];
  const writers = Array.from({ length: 8 }, async () => {
    for (let at = 0; at < 25; at++) {
      const squad = aSquad();
      const run = aRun(squad, { status: 'running' });
      const events = [started(run), activity(run, 'working')];
      await store.commit({ squads: [squad], runs: [run], turns: [aTurn(run)], events });
      written.push(run.id);
      expect(await store.run(run.id)).toEqual(run);
    }
  });
  let isDone = false;
  const all = Promise.all(writers).finally(() => {
    isDone = true;
  });
  let ended = 0;
  for (let seen = 0; !isDone; ) {
    await expect.poll(() => isDone || written.length > seen).toBe(true);
    seen = written.length + 15;
    ended += await endSessions(database, 'lost');
  }
  await all;
  expect(ended).toBeGreaterThan(3);
  expect(new Set((await store.liveRuns()).map(({ id }) => id))).toEqual(new Set(written));
  expect(await store.events({ limit: 1_000 })).toHaveLength(written.length * 2);
});

test('a commit whose answer is lost is not repeated', async () => {
  const database = await newSchema();
  const way = await lossyWay(database);
  const store = await open(way.url, 'answer');
  const run = aRun(aSquad());
  await store.commit({ events: [started(run)] });
  const told: number[] = [];
  store.onEvents(events => told.push(...events.map(({ seq }) => seq)));
  way.isLossy = true;
  await store.commit({ events: [activity(run, 'once')] });
  expect(way.isLossy).toBe(false);
  const stored = await store.events({ limit: 9 });
  expect(stored.map(({ body }) => body.type)).toEqual(['run.started', 'run.activity']);
  expect(told).toEqual([stored[1]!.seq]);
});

test('readers by number miss no event of several writers, some of whom roll back', async () => {
  const database = await newSchema();
  await (await open(database)).close();
  const pool = new pg.Pool({ connectionString: database, max: 4 });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  onTestFinished(() => db.destroy());
  const run = aRun(aSquad());
  const ROUNDS = 120;
  let isDone = false;
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let round = 0; round < ROUNDS; round++) {
      const isRolledBack = round % 20 === writer;
      const events = ['a', 'b'].map(name => eventToRow(activity(run, `${writer} ${round} ${name}`)));
      await db
        .transaction()
        .execute(async trx => {
          const key = `${writer} ${round}`;
          await trx.insertInto('settings').values({ key, value: '' }).execute();
          const numbers = (await appendEvents(trx, events)).map(Number);
          expect(numbers[1]).toBe(numbers[0]! + 1);
          if (isRolledBack) throw new Error('rolled back');
        })
        .catch(thrown => {
          if (!isRolledBack) throw thrown;
        });
    }
  });
  const all = Promise.all(writers).finally(() => {
    isDone = true;
  });
  const seen: number[] = [];
  const readOn = async () => {
    const next = await db
      .selectFrom('events')
      .select('seq')
      .where('seq', '>', seen.at(-1) ?? 0)
      .orderBy('seq')
      .execute();
    seen.push(...next.map(({ seq }) => Number(seq)));
  };
  while (!isDone) await readOn();
  await all;
  await readOn();
  expect(seen).toHaveLength((ROUNDS * 3 - 18) * 2);
});
