import { beforeEach, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { BoardHub } from '../testing/board-hub.ts';
import { listBoard } from './list-board.ts';

type Board = z.output<typeof listBoard.output>;
const HOUR_MS = 3_600_000;

let hub: BoardHub;
beforeEach(async () => {
  hub = await BoardHub.open();
});
const board = (input: object = {}) => hub.ask<Board>(listBoard, input);
const idsOf = ({ runs }: Board) => runs.map(({ id }) => id);
const ids = (...runs: Run[]) => runs.map(({ id }) => id);

describe('the board', () => {
  test('lists runs that need somebody first, then failed ones, newest first within each', async () => {
    const at = (hours: number) => ({ createdAt: hub.now - hours * HOUR_MS });
    const queued = hub.run({ status: 'queued', startedAt: null, ...at(1) });
    const [working, inReview] = [
      hub.run({ status: 'running', ...at(3) }),
      hub.run({ status: 'waiting_review', ...at(2) }),
    ];
    const asking = hub.run({ status: 'running', ...at(9) });
    const [failed, later] = [hub.run({ status: 'error', ...at(8) }), hub.run({ status: 'lost', ...at(7) })];
    const [done, old] = [
      hub.run({ status: 'completed', ...at(1) }),
      hub.run({ status: 'timeout', ...at(40), endedAt: hub.now - 25 * HOUR_MS }),
    ];
    await hub.put(queued, working, inReview, asking, failed, later, done, old);
    hub.asking(asking);
    const shown = await board();
    expect(idsOf(shown)).toEqual(ids(asking, later, failed, inReview, working, queued, done, old));
    expect(shown.runs.map(({ need }) => need)).toEqual([
      ...['needs_you', 'failed', 'failed', 'running', 'running', 'queued', 'done', 'done'],
    ]);
    expect(shown.counts).toEqual({ needs_you: 1, failed: 2, running: 2, queued: 1, done: 2 });
    expect(shown.next).toBeNull();
    expect(shown.runs[0]).toMatchObject({
      asks: 1,
      asking: { id: 'ask_0000000000', question: 'Which one?', hasDetails: false, choices: ['a', 'b'] },
    });
    expect(shown.runs[7]).toMatchObject({ status: 'timeout', need: 'done' });
  });

  test('counts questions separately from coders at their review limit, which are not in the inbox', async () => {
    const asking = hub.run({ status: 'running' });
    const atLimit = hub.run({
      ...{ status: 'completed', endedAt: hub.now },
      error: { code: 'REVIEW_LIMIT_EXCEEDED', message: 'No more reviews' },
    });
    await hub.put(asking, atLimit);
    hub.asking(asking);
    expect(await board()).toMatchObject({ counts: { needs_you: 2 }, asking: 1 });
  });

  test('shows a run that asks its parent run as running: the user does not have to answer', async () => {
    const [lead, helper] = [hub.run({ status: 'running' }), hub.run({ status: 'running' })];
    await hub.put(lead, helper);
    hub.asking(helper, lead.id);
    const shown = await board();
    expect(shown.counts).toMatchObject({ needs_you: 0, running: 2 });
    expect(shown.runs.find(({ id }) => id === helper.id)).toMatchObject({ need: 'running', asks: 1 });
  });

  test('counts a failure as done once its task is retried, however that ends', async () => {
    const failed = hub.run({ status: 'error', createdAt: hub.now - HOUR_MS });
    await hub.put(failed);
    expect((await board()).runs[0]).toMatchObject({ need: 'failed' });
    const retry = hub.run({ status: 'running', lineageId: failed.lineageId, createdAt: hub.now });
    await hub.put(retry);
    expect((await board()).runs.map(({ need }) => need)).toEqual(['running', 'done']);
    await hub.change(retry, { status: 'error', endedAt: hub.now });
    const shown = await board();
    expect(shown.runs.map(({ id, need }) => [id, need])).toEqual([
      [retry.id, 'failed'],
      [failed.id, 'done'],
    ]);
  });

  test('shows only what is asked for, and of failures every one there ever was', async () => {
    const old = hub.run({ status: 'error', createdAt: 5, startedAt: 5, endedAt: 6 });
    const fresh = hub.run({ status: 'error' });
    const [live, done] = [hub.run({ status: 'running' }), hub.run({ status: 'completed' })];
    await hub.put(old, fresh, live, done);
    expect(idsOf(await board({ status: ['failed'] }))).toEqual(ids(fresh, old));
    expect(idsOf(await board({ status: ['done'] }))).toEqual(ids(done, old));
    expect(new Set(idsOf(await board({ status: ['failed', 'done'] })))).toEqual(
      new Set(ids(fresh, old, done)),
    );
    expect(idsOf(await board({ status: ['failed', 'done'] }))).toHaveLength(3);
    expect(idsOf(await board({ status: ['running'] }))).toEqual(ids(live));
    expect((await board({ status: ['running'] })).counts).toMatchObject({ failed: 1, running: 1, done: 2 });
  });

  test('finds live and ended runs with the same query', async () => {
    const [live, ended] = [
      hub.run({ status: 'running', title: 'Use 50% of it' }),
      hub.run({ status: 'completed', title: 'Took 50% away' }),
    ];
    await hub.put(live, ended, hub.run({ status: 'running', title: '50 of it' }));
    const shown = await board({ q: '50%' });
    expect(idsOf(shown)).toEqual(ids(live, ended));
    expect(shown.counts).toMatchObject({ running: 1, done: 1 });
    expect(idsOf(await board({ squad: hub.squad.id, q: 'USE' }))).toEqual(ids(live));
    await expect(board({ squad: 'squad_zzzzzzzzzz' })).rejects.toThrow(/no squad/);
  });

  test('shows the known cost of today, including running runs', async () => {
    expect(await board()).toMatchObject({ spentTodayUsd: null, unreportedToday: 0, budgetDayUsd: null });
    const usage = { input: null, output: null, cached: null, costUsd: 0.5, costIsEstimated: false };
    const live = hub.run({ status: 'running' });
    await hub.put(live, hub.run({ status: 'completed' }));
    expect(await board()).toMatchObject({ spentTodayUsd: null, unreportedToday: 1 });
    hub.usages.set(live.id, usage);
    hub.settings['budget.day_usd'] = 4;
    await hub.put(hub.run({ status: 'completed', usage }));
    expect(await board()).toMatchObject({ spentTodayUsd: 1, unreportedToday: 1, budgetDayUsd: 4 });
    expect(await board()).toMatchObject({ isTodayEstimated: false });
    hub.usages.set(live.id, { ...usage, costIsEstimated: true });
    expect(await board()).toMatchObject({ spentTodayUsd: 1, isTodayEstimated: true });
  });

  test('shows the last activity of a run only while it runs', async () => {
    const run = hub.run({ status: 'running' });
    await hub.put(run);
    const said = (text: string) =>
      hub.store.commit({
        events: [
          { at: 7, runId: run.id, squadId: run.squadId, body: { type: 'run.activity', kind: 'text', text } },
        ],
      });
    await said('Looking\u001b[2J around\nhere');
    const shown = await board();
    expect(shown.runs[0]!.activity).toEqual({ at: 7, text: 'Looking␛[2J around here' });
    expect(shown.last).toBe(1);
    await said('x'.repeat(5_000));
    expect((await board()).runs[0]!.activity!.text.length).toBe(160);
    await hub.change(run, { status: 'completed', endedAt: hub.now });
    expect((await board()).runs[0]!.activity).toBeNull();
  });
});

describe('paging through the board', () => {
  test('shows each of 10,000 runs once, while runs come, move on and go', async () => {
    const runs = Array.from({ length: 10_000 }, (_, i) => {
      const createdAt = hub.now - 20_000 + i;
      if (i >= 9_600)
        return hub.run({ status: i % 2 === 0 ? 'running' : 'queued', createdAt, startedAt: createdAt });
      // Some fail every day, and some moments have many runs in common.
      const status = i % 7 === 0 ? 'error' : 'completed';
      return hub.run({ status, createdAt: createdAt - (createdAt % 5), endedAt: hub.now - i * 10_000 });
    });
    for (let at = 0; at < runs.length; at += 1_000) await hub.put(...runs.slice(at, at + 1_000));
    const live = runs.filter(({ status }) => status === 'running' || status === 'queued');
    const failures = runs.filter(({ status }) => status === 'error');

    const seen: RunId[] = [];
    const gone = new Set<RunId>();
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page: Board = await board({ limit: 150, ...(cursor !== null && { cursor }) });
      seen.push(...idsOf(page));
      cursor = page.next;
      pages++;
      // Running runs end and queued ones start, some before they were shown and some after.
      for (const run of live.filter((_, i) => i % 41 === pages % 41))
        await hub.change(
          run,
          run.status === 'queued'
            ? { status: 'running' }
            : { status: pages % 2 === 0 ? 'completed' : 'error', endedAt: hub.now - 5 },
        );
      const again = failures[pages * 3]!;
      await hub.put(
        hub.run({ status: 'running', lineageId: again.lineageId, createdAt: hub.now }),
        hub.run({ status: 'completed', createdAt: hub.now }),
      );
      const oldest = runs[pages]!;
      await hub.store.forget([oldest.id]);
      gone.add(oldest.id);
      hub.now += 60_000;
    } while (cursor !== null && pages < 200);

    expect(seen.length).toBe(new Set(seen).size);
    const shown = new Set(seen);
    expect(runs.filter(({ id }) => !shown.has(id) && !gone.has(id))).toEqual([]);
    expect(pages).toBeGreaterThan(60);
  });

  test('continues the same list, and refuses cursors of others', async () => {
    await hub.put(...Array.from({ length: 5 }, () => hub.run({ status: 'completed' })));
    const first = await board({ limit: 2 });
    expect(idsOf(await board({ limit: 2, cursor: first.next }))).toHaveLength(2);
    await expect(board({ cursor: first.next, q: 'other' })).rejects.toThrow(/other filters/);
    for (const cursor of ['', 'x', 'x.done.1-run_0000000000', `${first.next!.split('.')[0]}.done.soon`])
      await expect(board({ cursor })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
