import BetterSqlite3 from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { startChild } from './fixtures/child.ts';
import { openForTest, openWatched } from './fixtures/open-for-test.ts';
import { activity, aRun, aSquad, started } from './fixtures/sample-rows.ts';
import { tempFile } from './fixtures/temp-file.ts';

const HOLDER = new URL('./fixtures/hold-database.ts', import.meta.url);
const LONG_MS = 20_000;

describe('while another process holds the database', () => {
  test('changes wait, reads go on, and nothing is lost or reordered', async () => {
    const file = tempFile();
    const { store, met } = await openWatched(file, LONG_MS);
    const holder = startChild(HOLDER, file);
    expect(await holder.line()).toBe('held');
    const run = aRun(aSquad());
    const locked = met('locked');
    const first = store.commit({ events: [started(run, 1)] });
    await locked;
    const rest = [2, 3, 4].map(turn => store.commit({ events: [started(run, turn)] }));
    expect(await store.events({ limit: 9 })).toEqual([]);
    holder.say('release');
    await Promise.all([first, ...rest]);
    const turns = (await store.events({ limit: 9 })).map(
      ({ body }) => body.type === 'run.started' && body.turn,
    );
    expect(turns).toEqual([1, 2, 3, 4]);
  });

  test('after the window everything queued is rejected in order, and what comes later is written', async () => {
    const file = tempFile();
    const store = await openForTest(file, 100);
    const holder = startChild(HOLDER, file);
    expect(await holder.line()).toBe('held');
    const run = aRun(aSquad());
    const told: string[] = [];
    const tries = ['a', 'b', 'c'].map(text =>
      store.commit({ events: [activity(run, text)] }).catch(error => told.push(`${text} ${error.code}`)),
    );
    await Promise.all(tries);
    expect(told).toEqual(['a DATABASE_LOCKED', 'b DATABASE_LOCKED', 'c DATABASE_LOCKED']);
    holder.say('release');
    expect(await holder.line()).toBe('released');
    await store.commit({ events: [activity(run, 'd')] });
    expect((await store.events({ limit: 9 })).map(({ body }) => body)).toEqual([
      { type: 'run.activity', kind: 'text', text: 'd' },
    ]);
  });

  test('opening waits for it, and in the end says which file is locked', async () => {
    const file = tempFile();
    new BetterSqlite3(file).close();
    const holder = startChild(HOLDER, file);
    expect(await holder.line()).toBe('held');
    await expect(openForTest(file, 100)).rejects.toMatchObject({
      code: 'DATABASE_LOCKED',
      message: expect.stringContaining(file),
    });
    const opening = openForTest(file, LONG_MS);
    holder.say('release');
    const store = await opening;
    expect(await store.liveRuns()).toEqual([]);
  });
});

describe('while the disk is full', () => {
  const big = (run: ReturnType<typeof aRun>, name: string) => activity(run, name + 'x'.repeat(200_000));

  test('changes wait in order and go on when there is room again', async () => {
    const { store, backend, met } = await openWatched(tempFile(), LONG_MS);
    const run = aRun(aSquad());
    await store.commit({ events: [started(run)] });
    await sql`pragma max_page_count = 1`.execute(backend.db);
    const full = met('full');
    const waiting = ['a', 'b'].map(name => store.commit({ events: [big(run, name)] }));
    await full;
    waiting.push(store.commit({ events: [activity(run, 'c')] }));
    expect(await store.events({ limit: 9 })).toHaveLength(1);
    await sql`pragma max_page_count = 1000000`.execute(backend.db);
    await Promise.all(waiting);
    const texts = (await store.events({ types: ['run.activity'], limit: 9 })).map(
      ({ body }) => body.type === 'run.activity' && body.text[0],
    );
    expect(texts).toEqual(['a', 'b', 'c']);
  });

  test('after the window they are rejected with DISK_FULL, none half written, and the store still works', async () => {
    const { store, backend } = await openWatched(tempFile(), 50);
    const [squad, run] = [aSquad(), aRun(aSquad())];
    await sql`pragma max_page_count = 1`.execute(backend.db);
    const failed = store.commit({ squads: [squad], events: [big(run, 'a')] });
    await expect(failed).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await store.squad(squad.id)).toBeNull();
    await sql`pragma max_page_count = 1000000`.execute(backend.db);
    await store.commit({ squads: [squad], events: [big(run, 'a')] });
    expect(await store.squad(squad.id)).toEqual(squad);
  });
});

test('a writer killed with -9 leaves every settled change whole, and no half of any', async () => {
  const file = tempFile();
  const settled = new Set<string>();
  for (const linesBeforeKill of [1, 40, 150]) {
    const writer = startChild(new URL('./fixtures/write-until-killed.ts', import.meta.url), file);
    for (let seen = 0; seen < linesBeforeKill; seen++) settled.add((await writer.line())!);
    const killed = writer.kill();
    for (let line = await writer.line(); line !== null; line = await writer.line()) settled.add(line);
    await killed;
  }
  const store = await openForTest(file);
  const runs = await store.liveRuns();
  const ids = new Set<string>(runs.map(run => run.id));
  expect([...settled].filter(id => !ids.has(id))).toEqual([]);
  for (const run of runs) {
    expect(await store.squad(run.squadId)).not.toBeNull();
    expect(await store.turns(run.id)).toHaveLength(1);
    expect(await store.events({ runId: run.id, limit: 9 })).toHaveLength(3);
  }
  expect(await store.events({ limit: 100_000 })).toHaveLength(runs.length * 3);
});
