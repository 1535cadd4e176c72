import { type AddressInfo, connect, createServer } from 'node:net';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { activity, aRun, aSquad, aTurn, started } from '../fixtures/sample-rows.ts';
import { newSchema, query } from '../fixtures/temp-database.ts';
import { databaseName, openStore } from '../open.ts';
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

describe('a single hub at a time', () => {
  test('a second one is refused until the first has closed the database', async () => {
    const database = await newSchema();
    const first = await open(database, 'one');
    const refused = await refusal(database, 'two');
    expect(refused).toMatchObject({
      code: 'DATABASE_LOCKED',
      message: expect.stringContaining(`process ${process.pid}`),
    });
    expect(refused.message).toContain(databaseName(database));
    await first.setSetting('a', '1');
    await first.close();
    expect(await (await open(database, 'two')).settings()).toEqual({ a: '1' });
  });

  test('another schema of the same database is another database', async () => {
    const [one, two] = [await open(await newSchema(), 'one'), await open(await newSchema(), 'two')];
    await Promise.all([one.setSetting('a', '1'), two.setSetting('a', '2')]);
    expect(await one.settings()).toEqual({ a: '1' });
  });

  test('another home is refused while runs of the first have not ended', async () => {
    const database = await newSchema();
    const squad = aSquad();
    const run = aRun(squad, { status: 'running' });
    const first = await open(database, 'one');
    await first.commit({ squads: [squad], runs: [run], events: [] });
    await first.close();
    const refused = await refusal(database, 'two');
    expect(refused).toMatchObject({ code: 'DATABASE_FAILED', message: expect.stringContaining('/home/one') });
    expect(refused.message).toContain('a run that has not ended');
    const again = await open(database, 'one');
    await again.commit({ runs: [{ ...run, status: 'completed', endedAt: 5 }], events: [] });
    await again.close();
    expect(await (await open(database, 'two')).run(run.id)).toMatchObject({ status: 'completed' });
  });

  test('a hub that lost the database to another home writes nothing more', async () => {
    const database = await newSchema();
    const first = await open(database, 'one', SHORT_MS);
    // Holds the lock in the other's place, so that it cannot come back at once.
    await query(database, `update hub_owner set id = 'two', home = '/home/two'`);
    expect(await endSessions(database, 'one')).toBeGreaterThan(0);
    await expect(first.setSetting('a', '1')).rejects.toMatchObject({
      code: 'DATABASE_FAILED',
      message: expect.stringContaining('/home/two'),
    });
    expect(await query(database, 'select * from settings')).toEqual([]);
  });

  test('a session that its own home left behind is ended', async () => {
    const database = await newSchema();
    const left = new pg.Client({ connectionString: database, application_name: 'squad one somewhere 1' });
    left.on('error', () => {});
    await left.connect();
    onTestFinished(() => left.end());
    await left.query(
      `select pg_advisory_lock((${0x53_51_41_44}::bigint << 32) | (select oid from pg_namespace where nspname = current_schema())::bigint)`,
    );
    expect(await refusal(database, 'two')).toMatchObject({ code: 'DATABASE_LOCKED' });
    expect(await (await open(database, 'one')).settings()).toEqual({});
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

/** A way to the server that loses the answer to the next commit once `isLossy` is set. */
async function lossyWay(database: string): Promise<{ url: string; isLossy: boolean }> {
  const url = new URL(database);
  const server = createServer(client => {
    const upstream = connect(Number(new URL(database).port), '127.0.0.1');
    let isCommit = false;
    client.on('data', data => {
      if (way.isLossy && data.includes('commit\0')) {
        isCommit = true;
        way.isLossy = false;
      }
      upstream.write(data);
    });
    upstream.on('data', data => (isCommit ? client.destroy() : client.write(data)));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy());
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>(resolve => server.close(() => resolve())));
  url.port = String((server.address() as AddressInfo).port);
  const way = { url: url.href, isLossy: false };
  return way;
}

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
