import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { figuresOf, type RunSums, sumsOf } from '../core/cost/usage.ts';
import type { FiguresFilter, Store } from '../core/ports/store.ts';
import type { NewEvent } from '../schema/event.ts';
import { newSquadId } from '../schema/ids.ts';
import type { Run, RunStatus, Squad, Usage } from '../schema/run.ts';
import { makeOldDatabase } from './fixtures/old-database.ts';
import { openForTest } from './fixtures/open-for-test.ts';
import { aRun, aSquad, aTurn } from './fixtures/sample-rows.ts';
import { newSchema, onPostgres, query, tempDatabase } from './fixtures/temp-database.ts';
import { tempFile } from './fixtures/temp-file.ts';
import { migrate } from './migrations.ts';
import { openStore } from './open.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import { salvage } from './sqlite/salvage.ts';
import { storeOn } from './store.ts';

const NOW = 1_700_000_000_000;
const QUARTER_MS = 900_000;
const STATUSES: RunStatus[] = ['completed', 'error', 'cancelled', 'queued', 'running'];

const usageOf = (at: number): Usage | null =>
  at % 5 === 0
    ? null
    : {
        input: 10 + (at % 3),
        output: at % 7 === 0 ? null : 2,
        cached: null,
        costUsd: at % 4 === 0 ? null : (at % 9) / 8,
        costIsEstimated: at % 11 === 0,
      };

/** Runs of every kind, several to a millisecond, in squads of three. */
function manyRuns(count: number): { squads: Squad[]; runs: Run[] } {
  const squads: Squad[] = [];
  const runs = Array.from({ length: count }, (_, at): Run => {
    const createdAt = NOW + Math.floor(at / 6);
    if (at % 3 === 0)
      squads.push(aSquad({ id: newSquadId(), createdAt, workspace: at % 2 ? '/one' : '/two' }));
    const status = STATUSES[at % 31 === 0 ? 3 + (at % 2) : at % 3]!;
    const hasEnded = status !== 'queued' && status !== 'running';
    const run = aRun(squads.at(-1)!, {
      createdAt,
      status,
      roleId: at % 8 === 0 ? null : `role ${at % 3}`,
      model: at % 2 ? 'small' : null,
      usage: status === 'queued' ? null : usageOf(at),
      startedAt: status === 'queued' || at % 13 === 0 ? null : createdAt + 1,
      endedAt: hasEnded ? createdAt + 1_000 : null,
    });
    return { ...run, options: { ...run.options, subagent: at % 10 === 0 ? 'helper' : null } };
  });
  return { squads, runs };
}

async function all(store: Store, filter: FiguresFilter): Promise<{ sums: RunSums[]; pages: number }> {
  const pages: RunSums[][] = [];
  for await (const page of store.figures(filter)) pages.push(page);
  return { sums: pages.flat(), pages: pages.length };
}

/** Total of each group that a report shows. */
function totals(sums: readonly RunSums[]) {
  const key = ({ roleId, subagent, unpricedModel, id }: RunSums) =>
    JSON.stringify([roleId, subagent, unpricedModel, id]);
  const groups = Map.groupBy(sums, key);
  return Object.fromEntries(
    [...groups].toSorted().map(([name, of]) => [
      name,
      {
        ...figuresOf(of, NOW + 9_999),
        unreportedCost: of.reduce((sum, { unreported }) => sum + unreported, 0),
      },
    ]),
  );
}

const { squads, runs } = manyRuns(6_000);
const dear = squads[500]!;
for (const run of runs.filter(({ squadId }) => squadId === dear.id))
  run.usage = { ...usageOf(1)!, costUsd: 5 };
const wanted = [5_999, 3_000, 2].map(at => runs[at]!).filter(({ endedAt }) => endedAt !== null);
for (const run of wanted) run.task = 'Repair the needle';
/** With all of these runs. */
const folder = mkdtempSync(join(tmpdir(), 'squad-reports-'));
const filled = onPostgres ? await newSchema() : join(folder, 'squad.db');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const store = await openStore({ database: filled, version: '1.2.3' });
  await store.commit({ squads, runs, events: [] });
  await store.close();
});

describe.each(
  onPostgres
    ? [['PostgreSQL', 0]]
    : [
        ['the connection of the hub', Number.POSITIVE_INFINITY],
        ['a thread', 0],
      ],
)('reports that are read on %s', (_, maxInline) => {
  async function open(file: string): Promise<Store> {
    if (onPostgres) return openForTest(file);
    const backend = openSqlite(file, maxInline);
    await migrate(backend, file, '1.2.3');
    const store = storeOn(backend, 1_000);
    onTestFinished(() => store.close());
    return store;
  }

  test('sum up every run once, in pages, with each run that has not ended for itself', async () => {
    const store = await open(filled);
    const { sums, pages } = await all(store, {});
    expect(pages).toBeGreaterThan(1);
    expect(totals(sums)).toEqual(totals(runs.map(sumsOf)));
    const [since, until] = [NOW + 100, NOW + 700];
    const some = runs.filter(
      run => run.workspace === '/one' && run.createdAt >= since && run.createdAt < until,
    );
    expect(totals((await all(store, { workspace: '/one', since, until })).sums)).toEqual(
      totals(some.map(sumsOf)),
    );
    const { id: squadId } = squads[31]!;
    expect(totals((await all(store, { squadId })).sums)).toEqual(
      totals(runs.filter(run => run.squadId === squadId).map(sumsOf)),
    );
  });

  test('name the squads with the highest cost', async () => {
    const store = await open(filled);
    const [first, ...rest] = await store.dearestSquads({}, 5);
    expect(first).toBe(dear.id);
    expect(rest).toHaveLength(4);
    expect(await store.dearestSquads({ since: NOW + 5_000 }, 5)).toEqual([]);
  });

  test('find words in any run, newest first, and count those that have them', async () => {
    const store = await open(filled);
    const at = NOW + 48 * 3_600_000;
    expect(wanted.length).toBeGreaterThan(1);
    const found = await store.endedRuns({ q: 'needle', part: 'done', at, limit: 10 });
    expect(found.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    const [, ...older] = wanted.map(({ id }) => id);
    const next = await store.endedRuns({ q: 'needle', part: 'done', at, limit: 10, after: found[0] });
    expect(next.map(({ id }) => id)).toEqual(older);
    expect(await store.countEnded({ q: 'needle' }, at)).toEqual({ failed: 0, done: wanted.length });
    const failed = runs.filter(({ status }) => status === 'error');
    const ever = await store.endedRuns({ part: 'failed_ever', at, limit: 5_000 });
    expect(ever).toHaveLength(failed.length);
    expect(await store.countEndedBefore(NOW + 1_500)).toBe(
      runs.filter(({ endedAt }) => endedAt !== null && endedAt < NOW + 1_500).length,
    );
  });

  test('find events of a type anywhere, in both directions', async () => {
    const store = await open(await tempDatabase());
    const other = (text: string): NewEvent => ({
      ...{ at: 1, runId: null, squadId: null },
      body: { type: 'run.activity', kind: 'text', text },
    });
    const rare: NewEvent = {
      at: 2,
      runId: null,
      squadId: null,
      body: { type: 'runs.pruned', runs: 1, bytes: 1 },
    };
    const many = Array.from({ length: 25_000 }, (_, at) => other(`${at}`));
    await store.commit({ events: [rare, ...many, rare, other('last')] });
    const seqs = async (filter: Omit<Parameters<Store['events']>[0], 'types' | 'limit'>, limit = 9) =>
      (await store.events({ types: ['runs.pruned'], limit, ...filter })).map(({ seq }) => seq);
    expect(await seqs({})).toEqual([1, 25_002]);
    expect(await seqs({ reverse: true })).toEqual([25_002, 1]);
    expect(await seqs({ reverse: true }, 1)).toEqual([25_002]);
    expect(await seqs({ after: 1 })).toEqual([25_002]);
    expect(await seqs({ before: 25_002, reverse: true })).toEqual([1]);
    expect(await seqs({ after: 1, before: 25_002 })).toEqual([]);
  });

  test('see what was committed a moment ago, and fail as the database does when it is closed', async () => {
    const store = await open(await tempDatabase());
    const squad = aSquad();
    await store.commit({ squads: [squad], runs: [aRun(squad)], events: [] });
    expect((await all(store, {})).sums).toHaveLength(1);
    await store.close();
    await expect(all(store, {})).rejects.toMatchObject({ code: 'DATABASE_FAILED' });
  });
});

describe('runs by status', () => {
  test('are the newest of all these statuses together', async () => {
    const store = await openForTest(await tempDatabase());
    const { squads, runs } = manyRuns(600);
    await store.commit({ squads, runs, events: [] });
    const inOrder = runs.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
    const wanted = inOrder.filter(({ status, workspace }) => status !== 'completed' && workspace === '/two');
    const status: RunStatus[] = ['error', 'cancelled', 'queued', 'running'];
    for (const limit of [1, 7, 150])
      expect((await store.runs({ status, workspace: '/two', limit })).map(({ id }) => id)).toEqual(
        wanted.slice(0, limit).map(({ id }) => id),
      );
  });
});

/** Counts of the triggers, and the same figures counted from the runs. */
async function counted(file: string): Promise<{ kept: unknown[]; real: unknown[] }> {
  const rows = (text: string) => query(file, text);
  return {
    kept: [
      await rows('select * from run_counts order by 1, 2'),
      await rows(
        `select quarter, is_ended, runs, round(cast(cost_usd as numeric), 6) as usd, reported, estimated, unreported
           from spending order by 1, 2`,
      ),
    ],
    real: [
      await rows('select workspace, status, count(*) as runs from runs group by 1, 2 order by 1, 2'),
      await rows(`select cast(floor(created_at / 900000) as bigint) as quarter,
                case when ended_at is not null then 1 else 0 end as is_ended, count(*) as runs,
                round(cast(coalesce(sum(cost_usd), 0) as numeric), 6) as usd, count(cost_usd) as reported,
                count(*) filter (where cost_usd is not null and usage like '%"costIsEstimated":true%') as estimated,
                count(*) filter (where started_at is not null and cost_usd is null) as unreported
              from runs group by 1, 2 order by 1, 2`),
    ],
  };
}

describe('sums that are kept as runs change', () => {
  test('are right after runs were added, changed and removed', async () => {
    const file = await tempDatabase();
    const store = await openForTest(file);
    const { squads, runs } = manyRuns(300);
    for (const [at, run] of runs.entries()) run.createdAt += at * 60_000;
    await store.commit({ squads, runs, events: [] });
    expect((await counted(file)).kept).toEqual((await counted(file)).real);
    expect((await counted(file)).kept[1]).not.toHaveLength(0);
    for (const run of runs.slice(0, 100))
      await store.commit({
        runs: [{ ...run, status: 'completed', endedAt: NOW, usage: usageOf(7) }],
        events: [],
      });
    expect((await counted(file)).kept).toEqual((await counted(file)).real);
    await store.forget(runs.slice(50, 250).map(({ id }) => id));
    expect((await counted(file)).kept).toEqual((await counted(file)).real);
    await store.forget(runs.map(({ id }) => id));
    expect((await counted(file)).kept).toEqual([[], []]);
  });

  test('say what a day has cost, from its first quarter of an hour to the current one', async () => {
    const store = await openForTest(await tempDatabase());
    const squad = aSquad();
    const midnight = Math.ceil(NOW / QUARTER_MS) * QUARTER_MS;
    const costing = (createdAt: number, costUsd: number) =>
      aRun(squad, { createdAt, usage: { ...usageOf(1)!, costUsd }, status: 'completed', endedAt: createdAt });
    await store.commit({
      squads: [squad],
      runs: [costing(midnight - 1, 1), costing(midnight, 2), costing(midnight + QUARTER_MS, 4)],
      events: [],
    });
    expect(await store.spent({ since: midnight })).toBe(6);
    expect(await store.spent({ since: midnight, until: midnight + 5 })).toBe(2);
    expect(await store.spent({})).toBe(7);
    expect(await store.spending(midnight)).toEqual({ costUsd: 6, isEstimated: false, unreported: 0 });
    expect(await store.workspaces()).toEqual([
      { path: squad.workspace, runs: 3, lastRunAt: midnight + QUARTER_MS },
    ]);
  });

  // PostgreSQL databases are younger than these tables, and are never rebuilt.
  if (onPostgres) return;
  test('are filled in for a database of before, and for one that is rebuilt from its readable rows', async () => {
    const [old, rebuilt] = [tempFile(), tempFile()];
    const squad = aSquad();
    const run = aRun(squad, { status: 'completed', usage: usageOf(1), startedAt: 5, endedAt: 9 });
    await makeOldDatabase(old, 7, { squad, run, turn: aTurn(run) });
    await (await openForTest(old)).close();
    expect((await counted(old)).kept).toEqual((await counted(old)).real);
    expect((await counted(old)).kept[0]).toHaveLength(1);
    await (await openForTest(rebuilt)).close();
    salvage(old, rebuilt);
    expect((await counted(rebuilt)).kept).toEqual((await counted(old)).real);
    expect((await counted(rebuilt)).real).toEqual((await counted(old)).real);
  });
});
