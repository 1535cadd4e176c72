import { beforeEach, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { startOfDay } from '../../core/cost/budget.ts';
import { dayOf } from '../../core/cost/usage.ts';
import type { Usage } from '../../schema/run.ts';
import { BoardHub } from '../testing/board-hub.ts';
import { costReport } from './cost-report.ts';

type Report = z.output<typeof costReport.output>;

let hub: BoardHub;
beforeEach(async () => {
  hub = await BoardHub.open();
});
const report = (input: object = {}) => hub.ask<Report>(costReport, input);
const used = (costUsd: number | null, some: Partial<Usage> = {}): Usage => ({
  ...{ input: 10, output: null, cached: null, costUsd, costIsEstimated: false, ...some },
});

describe('cost of runs', () => {
  test('is not known where nothing was reported, and every day is there', async () => {
    const nothing = await report({ days: 3 });
    expect(nothing.days).toHaveLength(3);
    expect(nothing).toMatchObject({
      total: { costUsd: null, inputTokens: null, outputTokens: null, runs: 0, unreported: 0 },
      roles: [],
      squads: [],
      budgets: { runUsd: null, squadUsd: null, dayUsd: null },
      spentTodayUsd: null,
    });
    await hub.put(hub.run({ status: 'completed' }), hub.run({ status: 'completed', usage: used(null) }));
    expect((await report()).total).toEqual({
      ...{ costUsd: null, isEstimated: false, inputTokens: 10, outputTokens: null, runs: 2, unreported: 2 },
    });
  });

  test('is counted on the day it was asked for, to the millisecond of midnight', async () => {
    const midnight = startOfDay(hub.now);
    const at = (createdAt: number, usd: number) =>
      hub.run({ status: 'completed', createdAt, usage: used(usd) });
    await hub.put(at(midnight, 1), at(midnight - 1, 2), at(startOfDay(midnight - 1) - 1, 4));
    const { days, total, spentTodayUsd } = await report({ days: 2 });
    expect(days.map(({ day, costUsd, runs }) => [day, costUsd, runs])).toEqual([
      [dayOf(midnight - 1), 2, 1],
      [dayOf(midnight), 1, 1],
    ]);
    expect(total).toMatchObject({ costUsd: 3, runs: 2 });
    expect(spentTodayUsd).toBe(1);
  });

  test('is listed by engine, model and workspace', async () => {
    const run = (engine: string, model: string | null, workspace: string, usd: number) =>
      hub.run({ status: 'completed', engine, model, workspace, usage: used(usd) });
    await hub.put(
      ...[run('claude', 'opus', '/a', 3), run('claude', 'haiku', '/b', 1), run('codex', null, '/b', 1)],
    );
    const { engines, models, workspaces } = await report();
    expect(engines.map(({ engine, costUsd, runs }) => [engine, costUsd, runs])).toEqual([
      ['claude', 4, 2],
      ['codex', 1, 1],
    ]);
    expect(models[0]).toMatchObject({ model: 'opus', costUsd: 3, inputTokens: 10 });
    expect(models.map(({ model }) => model)).toContain(null);
    expect(workspaces.map(({ workspace, costUsd }) => [workspace, costUsd])).toEqual([
      ['/a', 3],
      ['/b', 2],
    ]);
  });

  test('is listed by role and by squad, the most expensive first and the unknown last', async () => {
    const run = (roleId: string | null, usage: Usage | null) =>
      hub.run({ status: 'completed', roleId, usage, title: `By ${roleId}` });
    await hub.put(
      run('cheap', used(0.1)),
      run(null, null),
      run('dear', used(2, { costIsEstimated: true, output: 7 })),
      run('cheap', used(0.2)),
    );
    const { roles, squads } = await report();
    expect(roles.map(({ roleId, costUsd, unreported }) => [roleId, costUsd, unreported])).toEqual([
      ['dear', 2, 0],
      ['cheap', 0.3, 0],
      [null, null, 1],
    ]);
    expect(roles[0]).toMatchObject({ isEstimated: true, outputTokens: 7 });
    expect(squads).toMatchObject([
      { squadId: hub.squad.id, costUsd: 2.3, runs: 4, unreported: 1, createdAt: 1 },
    ]);
    expect(squads[0]!.title).toMatch(/^By /);
  });

  test('of calls of a subagent is listed under its name, apart from a role of the same name', async () => {
    const { options } = hub.run({ status: 'completed' });
    const run = (roleId: string | null, subagent: string | null, usd: number) =>
      hub.run({ status: 'completed', roleId, options: { ...options, subagent }, usage: used(usd) });
    await hub.put(
      run('reviewer', null, 1),
      run(null, 'reviewer', 2),
      run(null, 'reviewer', 3),
      run(null, null, 4),
    );
    const { roles } = await report();
    expect(roles.map(({ roleId, subagent, costUsd, runs }) => [roleId, subagent, costUsd, runs])).toEqual([
      [null, 'reviewer', 5, 2],
      [null, null, 4, 1],
      ['reviewer', null, 1, 1],
    ]);
  });

  test('names the models that have no price, and blames no engine that said what it used', async () => {
    const run = (model: string | null, usage: Usage | null) => hub.run({ status: 'completed', model, usage });
    await hub.put(
      ...[run('new-1', used(null)), run('new-2', used(null)), run('new-1', used(null))],
      ...[
        run('known', used(1)),
        run('silent', null),
        run(null, used(null)),
        run('x', used(null, { input: null })),
      ],
    );
    const { total, unpriced } = await report();
    expect(total.unreported).toBe(6);
    expect(unpriced).toEqual({ runs: 3, models: ['new-1', 'new-2'] });
  });

  test('includes what running runs have used so far, and only of the requested workspace', async () => {
    hub.settings['budget.day_usd'] = 10;
    const live = hub.run({ status: 'running', usage: used(0.5) });
    await hub.put(live, hub.run({ status: 'completed', usage: used(1), workspace: '/elsewhere' }));
    expect((await report()).total.costUsd).toBe(1.5);
    hub.usages.set(live.id, used(0.75));
    expect((await report()).total).toMatchObject({ costUsd: 1.75, runs: 2, unreported: 0 });
    const here = await report({ workspace: hub.squad.workspace });
    expect(here).toMatchObject({ total: { costUsd: 0.75, runs: 1 }, budgets: { dayUsd: 10 } });
  });
});
