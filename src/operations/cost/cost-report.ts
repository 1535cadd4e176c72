import { z } from 'zod';
import { oneLine } from '../../base/text.ts';
import {
  dayOf,
  isUnpriced,
  isUnreported,
  lastDays,
  type RunFigures,
  usageTogether,
} from '../../core/cost/usage.ts';
import { SquadId } from '../../schema/ids.ts';
import { isEnd, runSummary } from '../../schema/run.ts';
import { operation, type Services } from '../operation.ts';

const MAX_RUNS = 1_000_000;
const MAX_SQUADS = 50;
const MAX_TITLE_LENGTH = 80;

const Cost = z.object({
  /** Null: none was reported. */
  costUsd: z.number().nullable(),
  /** Some of it was estimated from a price list. */
  isEstimated: z.boolean(),
  inputTokens: z.number().nullable(),
  outputTokens: z.number().nullable(),
  runs: z.number(),
  /** Ended runs among them with unknown cost, which is not in the sum. */
  unreported: z.number(),
});
type Cost = z.infer<typeof Cost>;

/** Cost of runs by creation day, role and squad. */
export const costReport = operation({
  name: 'cost_report',
  route: 'GET /cost',
  input: z.strictObject({
    days: z.number().int().min(1).max(366).default(14),
    workspace: z.string().optional(),
  }),
  output: z.object({
    /** Every day in the user's time zone, oldest first. */
    days: z.array(Cost.extend({ day: z.string() })),
    /** Most expensive first, calls of a subagent under its name; both null: runs with neither. */
    roles: z.array(Cost.extend({ roleId: z.string().nullable(), subagent: z.string().nullable() })),
    squads: z.array(Cost.extend({ squadId: SquadId, title: z.string(), createdAt: z.number() })),
    budgets: z.object({
      runUsd: z.number().nullable(),
      squadUsd: z.number().nullable(),
      dayUsd: z.number().nullable(),
    }),
    spentTodayUsd: z.number().nullable(),
    total: Cost,
    /** Unreported runs that reported tokens of a model without a price. */
    unpriced: z.object({ runs: z.number(), models: z.array(z.string()) }),
  }),
  async run({ services }, { days: count, workspace }) {
    const { store, clock, settings } = services;
    const days = lastDays(clock.now(), count);
    const rows = await store.figures({ workspace, since: days[0]!, limit: MAX_RUNS });
    const runs = rows.map(row => withCurrentUsage(services, row));
    const byDay = Map.groupBy(runs, run => dayOf(run.createdAt));
    const ofDays = days.map(day => ({ day: dayOf(day), ...costOf(byDay.get(dayOf(day)) ?? []) }));
    const bySquad = Map.groupBy(runs, run => run.squadId);
    const squads = [...bySquad].map(([squadId, some]) => ({ squadId, ...costOf(some) }));
    const byRole = Map.groupBy(runs, ({ roleId, subagent }) => JSON.stringify([roleId, subagent]));
    const all = settings.all();
    return {
      days: ofDays,
      roles: [...byRole.values()]
        .map(some => ({ roleId: some[0]!.roleId, subagent: some[0]!.subagent, ...costOf(some) }))
        .sort(dearestFirst),
      squads: await withTitles(services, squads.sort(dearestFirst).slice(0, MAX_SQUADS)),
      budgets: {
        runUsd: all['budget.run_usd'] ?? null,
        squadUsd: all['budget.squad_usd'] ?? null,
        dayUsd: all['budget.day_usd'] ?? null,
      },
      spentTodayUsd: ofDays.at(-1)!.costUsd,
      total: costOf(runs),
      unpriced: unpricedOf(runs),
    };
  },
});

/** The usage of a running run is in the database only after its end. */
function withCurrentUsage({ runner }: Pick<Services, 'runner'>, row: RunFigures): RunFigures {
  const now = isEnd(row.status) ? null : runner.current(row.id);
  return now ? { ...row, status: now.status, usage: runner.usageOf(row.id) ?? now.usage } : row;
}

function costOf(runs: readonly RunFigures[]): Cost {
  const usage = usageTogether(runs.map(run => run.usage));
  return {
    costUsd: usage?.costUsd ?? null,
    isEstimated: usage?.costIsEstimated ?? false,
    inputTokens: usage?.input ?? null,
    outputTokens: usage?.output ?? null,
    runs: runs.length,
    unreported: runs.filter(run => isUnreported(run, run.usage)).length,
  };
}

function unpricedOf(runs: readonly RunFigures[]) {
  const some = runs.filter(run => isUnreported(run, run.usage) && isUnpriced(run));
  return { runs: some.length, models: [...new Set(some.map(({ model }) => model!))].sort() };
}

/** A squad has no name, so its title is the task of its first member. */
async function withTitles<T extends { squadId: SquadId; runs: number }>({ store }: Services, squads: T[]) {
  const found = await Promise.all(
    squads.map(async each => {
      const [squad, [first]] = await Promise.all([
        store.squad(each.squadId),
        store.runs({ squadId: each.squadId, limit: 1 }),
      ]);
      // Removed a moment ago.
      if (!squad || !first) return null;
      const title = oneLine(runSummary(first), MAX_TITLE_LENGTH);
      return { ...each, title, createdAt: squad.createdAt };
    }),
  );
  return found.filter(each => each !== null);
}

/** Unknown cost comes last, with the most runs first. */
const dearestFirst = (a: Cost, b: Cost): number => (b.costUsd ?? -1) - (a.costUsd ?? -1) || b.runs - a.runs;
