import { describe, expect, test } from 'vitest';
import type { EndedFilter } from '../core/ports/store.ts';
import type { Run } from '../schema/run.ts';
import { openForTest } from './fixtures/open-for-test.ts';
import { activity, aRun, aSquad, aTurn } from './fixtures/sample-rows.ts';
import { tempDatabase } from './fixtures/temp-database.ts';

const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const squad = aSquad();
const ended = (some: Partial<Run>): Run =>
  aRun(squad, {
    ...{
      status: 'completed',
      createdAt: NOW - 2 * HOUR_MS,
      startedAt: NOW - 2 * HOUR_MS + 5,
      endedAt: NOW - HOUR_MS,
    },
    ...some,
  });

async function storeWith(...runs: Run[]) {
  const store = await openForTest(await tempDatabase());
  await store.commit({ squads: [squad], runs, events: [] });
  const part = async (wanted: EndedFilter['part'], some: Partial<EndedFilter> = {}) =>
    (await store.endedRuns({ part: wanted, at: NOW, limit: 1000, ...some })).map(({ id }) => id);
  return { store, part };
}

describe('runs that have ended', () => {
  test('are failed only within a day of their end', async () => {
    const [fresh, edge, old] = [
      ended({ status: 'error' }),
      ended({ status: 'timeout', createdAt: NOW - 30 * HOUR_MS, endedAt: NOW - 24 * HOUR_MS }),
      ended({ status: 'lost', createdAt: NOW - 31 * HOUR_MS, endedAt: NOW - 24 * HOUR_MS - 1 }),
    ];
    const well = ended({ createdAt: NOW - 3 * HOUR_MS });
    const live = aRun(squad, { createdAt: NOW });
    const { store, part } = await storeWith(fresh, edge, old, well, live);
    expect(await part('failed')).toEqual([fresh.id, edge.id]);
    expect(await part('done')).toEqual([well.id, old.id]);
    expect(await part('failed_ever')).toEqual([fresh.id, edge.id, old.id]);
    expect(await part('never_failed')).toEqual([well.id]);
    expect(await store.countEnded({}, NOW)).toEqual({ failed: 2, done: 2 });
  });

  test('are not failed any more when their task was taken up again after their end', async () => {
    const failed = ended({ status: 'error' });
    const retry = aRun(squad, { lineageId: failed.lineageId, createdAt: failed.endedAt! });
    const left = ended({ status: 'error', createdAt: NOW - 3 * HOUR_MS });
    // Started by it while it was running: that is no retry.
    const helper = ended({ lineageId: left.lineageId, createdAt: left.endedAt! - 1 });
    const { store, part } = await storeWith(failed, retry, left, helper);
    expect(await part('failed')).toEqual([left.id]);
    expect([...(await store.takenUp([failed.id, left.id]))]).toEqual([failed.id]);
    expect(await store.countEnded({}, NOW)).toEqual({ failed: 1, done: 2 });
    // A list that was begun before the retry still has it where it was.
    expect(await part('failed', { at: retry.createdAt - 1 })).toContain(failed.id);
    expect(await part('done', { at: retry.createdAt - 1 })).not.toContain(failed.id);
  });

  test('that completed with an error are found for a week, unless their task was taken up again', async () => {
    const error = { code: 'REVIEW_LIMIT_EXCEEDED', message: 'No more reviews' };
    const week = 7 * 24 * HOUR_MS;
    const [open, old, taken] = [
      ended({ error }),
      ended({ error, createdAt: NOW - week - HOUR_MS, endedAt: NOW - week - 1 }),
      ended({ error }),
    ];
    const reply = aRun(squad, { lineageId: taken.lineageId, createdAt: taken.endedAt! });
    const { store } = await storeWith(open, old, taken, reply, ended({}), ended({ status: 'error', error }));
    expect((await store.leftWithError({}, NOW)).map(({ id }) => id)).toEqual([open.id]);
    expect(await store.leftWithError({ workspace: '/elsewhere' }, NOW)).toEqual([]);
  });

  test('are leafed through from any of them, also where several have one moment in common', async () => {
    const runs = Array.from({ length: 7 }, () => ended({ createdAt: NOW - 2 * HOUR_MS }));
    const { part } = await storeWith(...runs);
    const all = await part('done');
    expect(all).toEqual(runs.map(({ id }) => id).sort());
    const seen: string[] = [];
    for (let after: EndedFilter['after']; seen.length < 7; ) {
      const page = await part('done', { after, limit: 2 });
      seen.push(...page);
      after = { createdAt: NOW - 2 * HOUR_MS, id: page.at(-1)! };
    }
    expect(seen).toEqual(all);
  });

  test.each([
    ['a per cent sign', '100%', ['Reach 100% of it']],
    ['an underscore', 'snake_case', ['Use snake_case']],
    ['a backslash', 'C:\\new', ['In C:\\new now']],
    ['quotes', `"it's"`, [`Say "it's" so`]],
    ['a word in another case', 'SNAKE_', ['Use snake_case']],
    ['every word, wherever it is', 'use CODER', ['Use snake_case']],
    ['nothing', '  ', null],
    ['what is nowhere', 'snakeXcase', []],
    ['no SQL', "' or 1=1 --", []],
  ])('are found by %s', async (_, q, titles) => {
    const runs = [
      'Reach 100% of it',
      'Reached 1000 of it',
      'Use snake_case',
      'Not snake-case',
      'In C:\\new now',
      `Say "it's" so`,
    ].map((title, i) => ended({ title, task: '–', createdAt: NOW - HOUR_MS * (2 + i), roleId: `coder${i}` }));
    const { store } = await storeWith(...runs);
    const found = await store.endedRuns({ part: 'done', at: NOW, limit: 100, q });
    expect(found.map(({ title }) => title)).toEqual(titles ?? runs.map(({ title }) => title));
    expect((await store.countEnded({ q }, NOW)).done).toBe(found.length);
  });

  test('are those of one workspace or squad, where that is asked for', async () => {
    const other = aSquad({ workspace: '/other' });
    const store = await openForTest(await tempDatabase());
    const [here, there] = [ended({}), { ...ended({}), squadId: other.id, workspace: '/other' }];
    const live = aRun(other, { createdAt: NOW });
    await store.commit({ squads: [squad, other], runs: [here, there, live], events: [] });
    const ids = async (some: Partial<EndedFilter>) =>
      (await store.endedRuns({ part: 'done', at: NOW, limit: 10, ...some })).map(({ id }) => id);
    expect(await ids({ workspace: '/other' })).toEqual([there.id]);
    expect(await ids({ squadId: squad.id })).toEqual([here.id]);
    expect([...(await store.liveIds({ workspace: '/other' }))]).toEqual([live.id]);
    expect([...(await store.liveIds({ squadId: squad.id }))]).toEqual([]);
    expect(await store.workspaces()).toEqual([
      { path: '/other', runs: 2, lastRunAt: NOW },
      { path: '/project', runs: 1, lastRunAt: here.createdAt },
    ]);
  });
});

test('money that nobody told is not known, and not nothing', async () => {
  const usage = { input: 1, output: 1, cached: null, costUsd: 0.25, costIsEstimated: false };
  const unpriced = ended({ usage: { ...usage, costUsd: null } });
  const { store } = await storeWith(ended({}), unpriced, ended({ startedAt: null, status: 'cancelled' }));
  expect(await store.spending(0)).toEqual({ costUsd: null, isEstimated: false, unreported: 2 });
  const told = ended({ usage });
  await store.commit({ runs: [told, aRun(squad, { status: 'running', usage })], events: [] });
  expect(await store.spending(0)).toEqual({ costUsd: 0.25, isEstimated: false, unreported: 2 });
  expect(await store.spending(NOW)).toEqual({ costUsd: null, isEstimated: false, unreported: 0 });
  const worked = ended({ usage: { ...usage, costIsEstimated: true } });
  await store.commit({ runs: [worked], events: [] });
  expect(await store.spending(0)).toEqual({ costUsd: 0.5, isEstimated: true, unreported: 2 });
});

test('turns of several runs and the number of the last event are found', async () => {
  const [one, other, third] = [ended({}), ended({}), ended({})];
  const { store } = await storeWith(one, other, third);
  expect(await store.lastEvent()).toBe(0);
  await store.commit({
    turns: [aTurn(one, { number: 2 }), aTurn(one), aTurn(third)],
    events: [activity(one, 'a'), activity(one, 'b')],
  });
  expect(await store.lastEvent()).toBe(2);
  const turns = await store.turnsOf([one.id, other.id]);
  expect(turns.map(({ runId, number }) => [runId, number])).toEqual([
    [one.id, 1],
    [one.id, 2],
  ]);
  expect(await store.turnsOf([])).toEqual([]);
});

test('events before a number are found, newest first', async () => {
  const run = ended({});
  const { store } = await storeWith(run);
  await store.commit({ events: Array.from({ length: 5 }, () => activity(run, 'a')) });
  const found = await store.events({ before: 4, after: 1, reverse: true, limit: 10 });
  expect(found.map(({ seq }) => seq)).toEqual([3, 2]);
});
