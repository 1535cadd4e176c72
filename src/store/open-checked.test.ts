import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RunSource } from '../core/ports/run-files.ts';
import { keepRecords, readRecord } from '../core/runs/run-record.ts';
import type { NewEvent } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { CommitMark } from './commit-mark.ts';
import { aChat, anIntent, aRun, aSquad, aTurn, started } from './fixtures/sample-rows.ts';
import { tempFile } from './fixtures/temp-file.ts';
import { openCheckedStore } from './open.ts';

const PARTS = ['', '-wal', '-shm'];

/** A database with a mark and run folders in memory, as the hub has them. */
class Bench {
  readonly file = tempFile();
  readonly markFile = join(dirname(this.file), 'runs', '.database.json');
  readonly folders = new Map<RunId, string>();
  lists = 0;
  damages = 0;
  saves = 0;
  readonly source: RunSource = {
    list: async () => {
      this.lists++;
      return [...this.folders.keys()].map(runId => ({ runId, changedAt: Date.now() }));
    },
    record: async id => readRecord(this.folders.get(id) ?? null),
    unrecorded: async () => null,
  };

  async open() {
    const { store, restored } = await openCheckedStore({
      ...{ database: this.file, version: '1.2.3', source: this.source },
      mark: new CommitMark(this.markFile),
      onRestore: () => {},
      onDamage: () => this.damages++,
    });
    onTestFinished(() => store.close());
    const files = {
      record: async (id: RunId) => this.folders.get(id) ?? null,
      saveRecord: async (id: RunId, record: string) => {
        this.saves++;
        this.folders.set(id, record);
      },
    };
    const kept = keepRecords(store, files, (_, thrown) => {
      throw thrown;
    });
    return { store: kept, restored };
  }

  /** The files as a hub leaves them that is killed now. */
  async kill(store: { close(): Promise<void> }): Promise<void> {
    const files = [...PARTS.slice(0, 2).map(part => this.file + part), this.markFile];
    const contents = files.map(file => readFileSync(file));
    await store.close();
    for (const [at, file] of files.entries()) writeFileSync(file, contents[at]!);
  }

  asides(): string[] {
    return readdirSync(dirname(this.file)).filter(name => name.includes('damaged'));
  }
}

const ended = (run: Run): NewEvent => ({
  at: 1_700_000_000_300,
  runId: run.id,
  squadId: run.squadId,
  body: {
    ...{ type: 'run.ended', status: 'completed', exitCode: 0, error: null, usage: null },
    ...{ leftovers: [], durationMs: 200 },
  },
});
const queued = (run: Run): NewEvent => ({
  at: run.createdAt,
  runId: run.id,
  squadId: run.squadId,
  body: { type: 'run.queued', roleId: run.roleId, engine: run.engine },
});
const USAGE = { input: 10, output: 20, cached: null, costUsd: 0.25, costIsEstimated: false };

/** `old` is in the file, `fresh` and the end of `old` only in the log; killed. */
async function killedBench() {
  const bench = new Bench();
  const squad = aSquad();
  const old = aRun(squad, { chatId: 'chat 1' });
  const first = await bench.open();
  await first.store.commit({ squads: [squad], runs: [old], events: [queued(old)] });
  await first.store.setSetting('limits.concurrency', '3');
  await first.store.close();
  cpSync(bench.file, `${bench.file}.older`);

  const { store } = await bench.open();
  const done: Run = { ...old, status: 'completed', usage: USAGE, startedAt: 5, endedAt: 6 };
  await store.commit({ turns: [aTurn(old)], runs: [{ ...old, status: 'running' }], events: [started(old)] });
  await store.commit({
    ...{ runs: [done], turns: [aTurn(old, { exitCode: 0, endedAt: 6 })] },
    ...{ chats: [aChat(null)], events: [ended(old)] },
  });
  const second = aSquad();
  const fresh = aRun(second);
  await store.commit({ squads: [second], runs: [fresh], events: [queued(fresh)] });
  await store.recorded([fresh.id]);
  await store.commit({ intents: [anIntent('an intent')], events: [] });
  await store.setSetting('limits.concurrency', '7');
  const seq = await store.lastEvent();
  await bench.kill(store);
  return { bench, done, fresh, squads: [squad, second], seq };
}

const page = (file: string, table: string): number => {
  const handle = new BetterSqlite3(file);
  handle.pragma('wal_checkpoint(truncate)');
  const root = handle.prepare('select rootpage from sqlite_schema where name = ?').pluck().get(table);
  handle.close();
  return ((root as number) - 1) * 4096;
};
const spoil = (file: string, at: number, length = 4096) =>
  writeFileSync(file, readFileSync(file).fill(0xa5, at, at + length));

const LOSSES: Record<string, (file: string) => void> = {
  'without its log': file => rmSync(`${file}-wal`),
  'without its file': file => rmSync(file),
  'without any file': file => {
    for (const part of PARTS) rmSync(file + part, { force: true });
  },
  'with a log cut in the middle': file => truncateSync(`${file}-wal`, statSync(`${file}-wal`).size >> 1),
  'with a flipped byte in its log': file => spoil(`${file}-wal`, statSync(`${file}-wal`).size >> 1, 1),
  'with a log of garbage': file => spoil(`${file}-wal`, 0, statSync(`${file}-wal`).size),
  'that is an older copy': file => {
    rmSync(`${file}-wal`);
    cpSync(`${file}.older`, file);
  },
  'with a head of garbage': file => spoil(file, 0, 100),
  'cut in the middle': file => {
    page(file, 'runs');
    truncateSync(file, statSync(file).size >> 1);
  },
  'cut to nothing': file => {
    page(file, 'runs');
    truncateSync(file, 0);
  },
  ...Object.fromEntries(
    ['runs', 'squads'].map(table => [
      `with a spoiled page of ${table} and without its log`,
      (file: string) => {
        rmSync(`${file}-wal`);
        spoil(file, page(file, table));
      },
    ]),
  ),
};

describe('a database', () => {
  test.each(Object.entries(LOSSES))(
    '%s is brought up to the run folders',
    { tags: ['D10'] },
    async (_, lose) => {
      const { bench, done, fresh, squads, seq } = await killedBench();
      lose(bench.file);
      const { store, restored } = await bench.open();
      expect(restored).toMatchObject({ why: expect.stringContaining(bench.file) });
      const [old, later] = await Promise.all([store.run(done.id), store.run(fresh.id)]);
      expect(old).toEqual({ ...done, notes: [expect.stringContaining('Restored from its folder')] });
      expect(later).toMatchObject({ status: 'queued', task: fresh.task });
      expect(await store.turns(done.id)).toMatchObject([{ number: 1, exitCode: 0 }]);
      expect(await store.chat('chat 1')).toMatchObject({ runId: null });
      expect(await Promise.all(squads.map(({ id }) => store.squad(id)))).toEqual(squads);
      expect(await store.settings()).toMatchObject({ 'limits.concurrency': '7' });
      expect(await store.spent({})).toBe(0.25);
      const events = await store.events({ limit: 99 });
      expect(events.filter(({ runId }) => runId === done.id).map(({ body }) => body.type)).toEqual([
        ...['run.queued', 'run.started', 'run.ended'],
      ]);
      expect(events.at(-1)).toMatchObject({ body: { type: 'database.restored' } });
      expect(events.at(-1)!.seq).toBeGreaterThan(seq);

      await store.close();
      const again = await bench.open();
      expect(again.restored).toBeNull();
    },
  );

  test('that was killed and lost nothing is opened without a look at the folders', async () => {
    const { bench, done } = await killedBench();
    const before = bench.lists;
    const { store, restored } = await bench.open();
    expect([restored, bench.lists]).toEqual([null, before]);
    expect(await store.run(done.id)).toEqual(done);
    expect(await store.intents()).toHaveLength(1);
  });

  test('that lost commits forgets the intents of its older state', async () => {
    const { bench } = await killedBench();
    rmSync(bench.file);
    expect(await (await bench.open()).store.intents()).toEqual([]);
  });

  test('whose last events were pruned has lost nothing', async () => {
    const { bench, done, fresh } = await killedBench();
    const { store } = await bench.open();
    await store.forget([done.id, fresh.id]);
    bench.folders.clear();
    await store.close();
    expect((await bench.open()).restored).toBeNull();
  });

  test('without a mark is compared with the folders once', async () => {
    const { bench, done } = await killedBench();
    rmSync(bench.markFile);
    expect((await bench.open()).restored).toBeNull();
    rmSync(bench.markFile);
    for (const part of PARTS) rmSync(bench.file + part, { force: true });
    const { store, restored } = await bench.open();
    expect(restored).toMatchObject({ restored: 2 });
    expect(await store.run(done.id)).toMatchObject({ status: 'completed' });
  });

  test('keeps an end that its record does not tell of', async () => {
    const { bench, done, fresh } = await killedBench();
    const record = readRecord(bench.folders.get(done.id)!)!;
    record.run.status = 'running';
    record.events.push({ at: 9, body: { type: 'run.stopping', reason: 'cancel' } });
    bench.folders.set(done.id, JSON.stringify(record));
    new BetterSqlite3(bench.file).exec(`delete from runs where id = '${fresh.id}'`).close();
    rmSync(bench.markFile);
    const { store, restored } = await bench.open();
    expect(restored).toMatchObject({ restored: 1, updated: 0 });
    expect(await store.run(done.id)).toEqual(done);
  });

  test('a folder that no record tells of is no loss', async () => {
    const { bench } = await killedBench();
    bench.folders.set(aRun(aSquad()).id, 'not a record');
    rmSync(bench.markFile);
    expect((await bench.open()).restored).toBeNull();
  });
});

describe('damage', () => {
  test('that shows in use is reported once the page is read, and the next opening rebuilds', {
    tags: ['D10'],
  }, async () => {
    const { bench, done, fresh } = await killedBench();
    spoil(bench.file, page(bench.file, 'turns'));
    const { store } = await bench.open();
    expect(bench.damages).toBe(0);
    await expect(store.turns(done.id)).rejects.toMatchObject({ code: 'DATABASE_CORRUPT' });
    expect(bench.damages).toBeGreaterThan(0);
    await store.close();

    const next = await bench.open();
    expect(next.restored).toMatchObject({ kept: join(dirname(bench.file), bench.asides()[0]!) });
    expect(await next.store.turns(done.id)).toMatchObject([{ exitCode: 0 }]);
    expect(await next.store.run(fresh.id)).toMatchObject({ status: 'queued' });
  });

  test('to a row of JSON is damage too: the row comes back from the folder', async () => {
    const { bench, done } = await killedBench();
    const handle = new BetterSqlite3(bench.file);
    handle.prepare('update runs set options = ? where id = ?').run('{"spoiled', done.id);
    handle.close();
    const { store } = await bench.open();
    await expect(store.run(done.id)).rejects.toMatchObject({ code: 'DATABASE_CORRUPT' });
    await store.close();
    expect(await (await bench.open()).store.run(done.id)).toMatchObject({ options: done.options });
  });

  test('leaves what is readable: what no folder knows is kept', async () => {
    const { bench, done } = await killedBench();
    bench.folders.clear();
    spoil(bench.file, page(bench.file, 'turns'));
    const { store } = await bench.open();
    await store.turns(done.id).catch(() => {});
    await store.close();
    const next = await bench.open();
    expect(await next.store.run(done.id)).toEqual(done);
    expect(await next.store.intents()).toHaveLength(1);
  });

  test.each([0, 1, 2, 3])(
    '%i of the steps of the swap were done when it was killed: it is finished',
    { tags: ['D10'] },
    async steps => {
      const { bench, done } = await killedBench();
      const { store } = await bench.open();
      await store.close();
      // As a rebuild leaves it: the new database is complete, the damaged one is still in its place.
      cpSync(bench.file, `${bench.file}.rebuilt`);
      spoil(bench.file, 0);
      writeFileSync(`${bench.file}-wal`, 'a damaged log');
      const at = Math.round(statSync(`${bench.file}.rebuilt`).mtimeMs / 1000) * 1000;
      const kept = `${bench.file}.damaged-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}`;
      const moves = ['', '-wal'].map(part => [bench.file + part, kept + part]);
      for (const [from, to] of moves.slice(0, steps)) {
        cpSync(from!, to!, { preserveTimestamps: true });
        rmSync(from!);
      }
      if (steps === 3) {
        cpSync(`${bench.file}.rebuilt`, bench.file);
        rmSync(`${bench.file}.rebuilt`);
      }
      const next = await bench.open();
      expect(next.restored).toBeNull();
      expect(await next.store.run(done.id)).toEqual(done);
      expect(readFileSync(`${kept}-wal`, 'utf8')).toBe('a damaged log');
      expect(existsSync(`${bench.file}.rebuilt`)).toBe(false);
    },
  );
});

describe('the record of a run', () => {
  test('is written with its next commit, and once', async () => {
    const bench = new Bench();
    const { store } = await bench.open();
    const squad = aSquad();
    const run = aRun(squad);
    await store.commit({ squads: [squad], runs: [run], events: [queued(run)] });
    const running: Run = { ...run, status: 'running' };
    await store.commit({ turns: [aTurn(run)], runs: [running], events: [started(run)] });
    expect(readRecord(bench.folders.get(run.id)!)).toMatchObject({
      ...{ squad: { id: squad.id }, run: { status: 'running' }, turns: [{ number: 1 }] },
      events: [{ body: { type: 'run.queued' } }, { body: { type: 'run.started' } }],
    });
    await store.recorded([run.id]);
    expect(bench.saves).toBe(1);
  });

  test('is there when that was waited for, also without another commit', async () => {
    const bench = new Bench();
    const { store } = await bench.open();
    const squad = aSquad();
    const [one, other] = [aRun(squad), aRun(squad, { position: 1 })];
    await store.commit({ squads: [squad], runs: [one, other], events: [queued(one), queued(other)] });
    await store.recorded([one.id, other.id], [one.id]);
    expect([one, other].map(({ id }) => readRecord(bench.folders.get(id)!)?.run.status)).toEqual([
      ...['queued', 'queued'],
    ]);
  });

  test('has its end, which the commit does not wait for', async () => {
    const bench = new Bench();
    const { store } = await bench.open();
    const squad = aSquad();
    const run = aRun(squad);
    await store.commit({ squads: [squad], runs: [run], events: [queued(run)] });
    await store.recorded([run.id]);
    const completed: Run = { ...run, status: 'completed', endedAt: 6 };
    await store.commit({ runs: [completed], events: [ended(run)] });
    expect(readRecord(bench.folders.get(run.id)!)).toMatchObject({ run: { status: 'queued' } });
    await store.close();
    expect(readRecord(bench.folders.get(run.id)!)).toMatchObject({
      ...{ run: { status: 'completed' }, events: [{}, { body: { type: 'run.ended' } }] },
    });
  });
});
