import { z } from 'zod';
import { oneLine } from '../../base/text.ts';
import { dayOf, lastDays, type RunSums, roundSum, sumsOf } from '../../core/cost/usage.ts';
import { SquadId } from '../../schema/ids.ts';
import { runSummary } from '../../schema/run.ts';
import { operation, type Services, type UserServices } from '../operation.ts';

const MAX_SQUADS = 50;
const MAX_TITLE_LENGTH = 80;

const Cost = z.object({
  /** Known cost. Null if no cost was reported. */
  costUsd: z.number().nullable(),
  /** True if at least a part of the cost was estimated from a price list. */
  isEstimated: z.boolean(),
  inputTokens: z.number().nullable(),
  outputTokens: z.number().nullable(),
  runs: z.number(),
  /** Number of ended runs with unknown cost, which is not included in the sum. */
  unreported: z.number(),
});
type Cost = z.infer<typeof Cost>;

/** Cost of runs by creation day, role, engine, model, workspace and squad. */
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
    /**
     * Costs by role or subagent, most expensive first. Calls of a subagent are listed under its name. Both names are
     * null for runs with neither.
     */
    roles: z.array(Cost.extend({ roleId: z.string().nullable(), subagent: z.string().nullable() })),
    engines: z.array(Cost.extend({ engine: z.string() })),
    /** `model` is null for runs whose model is unknown. */
    models: z.array(Cost.extend({ model: z.string().nullable() })),
    workspaces: z.array(Cost.extend({ workspace: z.string() })),
    squads: z.array(Cost.extend({ squadId: SquadId, title: z.string(), createdAt: z.number() })),
    budgets: z.object({
      runUsd: z.number().nullable(),
      squadUsd: z.number().nullable(),
      dayUsd: z.number().nullable(),
    }),
    spentTodayUsd: z.number().nullable(),
    total: Cost,
    /** Runs without a cost that reported tokens of a model without a price. */
    unpriced: z.object({ runs: z.number(), models: z.array(z.string()) }),
  }),
  async run({ services }, { days: count, workspace }) {
    const { store, clock, settings } = services;
    const days = lastDays(clock.now(), count);
    const ofDays = days.map(day => ({ day: dayOf(day), sum: new CostSum() }));
    const ofRoles = new Map<string, RoleSum>();
    const [engines, models, workspaces] = [
      new Groups<string>(),
      new Groups<string | null>(),
      new Groups<string>(),
    ];
    const total = new CostSum();
    const unpriced = { runs: 0, models: new Set<string>() };
    // Runs with a later time, created before the clock was set back, belong to no day.
    const ends = [...days.slice(1), new Date(days.at(-1)!).setHours(24, 0, 0, 0), undefined];
    for (const [at, until] of ends.entries())
      for await (const page of store.figures({ workspace, since: days[at] ?? ends[at - 1], until }))
        for (const each of page) {
          const sums = withCurrentUsage(services, each);
          const { roleId, subagent, unpricedModel } = sums;
          const key = JSON.stringify([roleId, subagent]);
          const ofRole = ofRoles.get(key) ?? { roleId, subagent, cost: new CostSum() };
          ofRoles.set(key, ofRole);
          for (const sum of [total, ofDays[at]?.sum, ofRole.cost]) sum?.add(sums);
          engines.add(sums.engine, sums);
          models.add(sums.model, sums);
          workspaces.add(sums.workspace, sums);
          if (unpricedModel === null) continue;
          unpriced.runs += sums.runs;
          unpriced.models.add(unpricedModel);
        }
    const byDay = ofDays.map(({ day, sum }) => ({ day, ...sum.cost() }));
    const all = settings.all();
    return {
      days: byDay,
      roles: [...ofRoles.values()]
        .map(({ cost, ...role }) => ({ ...role, ...cost.cost() }))
        .sort(dearestFirst),
      engines: engines.costs(engine => ({ engine })),
      models: models.costs(model => ({ model })),
      workspaces: workspaces.costs(each => ({ workspace: each })),
      squads: await dearestSquads(services, { workspace, since: days[0]! }),
      budgets: {
        runUsd: all['budget.run_usd'] ?? null,
        squadUsd: all['budget.squad_usd'] ?? null,
        dayUsd: all['budget.day_usd'] ?? null,
      },
      spentTodayUsd: byDay.at(-1)!.costUsd,
      total: total.cost(),
      unpriced: { runs: unpriced.runs, models: [...unpriced.models].sort() },
    };
  },
});

interface RoleSum {
  roleId: string | null;
  subagent: string | null;
  cost: CostSum;
}

/** Adds the usage of running runs, which the database gets only after their end. */
export function withCurrentUsage({ runner }: Pick<Services, 'runner'>, sums: RunSums): RunSums {
  const now = sums.id === null ? null : runner.current(sums.id);
  return now ? sumsOf({ ...now, usage: runner.usageOf(now.id) ?? now.usage }) : sums;
}

class CostSum {
  private readonly sums: Record<'costUsd' | 'input' | 'output', number | null> = {
    costUsd: null,
    input: null,
    output: null,
  };
  private isEstimated = false;
  private runs = 0;
  private unreported = 0;

  add(of: RunSums): void {
    this.runs += of.runs;
    this.unreported += of.unreported;
    for (const name of ['costUsd', 'input', 'output'] as const)
      if (of[name] !== null) this.sums[name] = (this.sums[name] ?? 0) + of[name];
    this.isEstimated ||= of.isEstimated;
  }

  cost(): Cost {
    const { costUsd, input, output } = this.sums;
    return {
      costUsd: costUsd === null ? null : roundSum(costUsd),
      isEstimated: this.isEstimated,
      inputTokens: input,
      outputTokens: output,
      runs: this.runs,
      unreported: this.unreported,
    };
  }
}

/** Sums of the runs that share one value, such as the same role. */
class Groups<K> {
  private readonly sums = new Map<K, CostSum>();

  add(key: K, of: RunSums): void {
    const sum = this.sums.get(key) ?? new CostSum();
    this.sums.set(key, sum);
    sum.add(of);
  }

  /** Sorted by cost, most expensive first. */
  costs<N extends object>(named: (key: K) => N): (N & Cost)[] {
    return [...this.sums].map(([key, sum]) => ({ ...named(key), ...sum.cost() })).sort(dearestFirst);
  }
}

/** A squad has no name, so its title is the task of its first member. */
async function dearestSquads(services: UserServices, filter: { workspace?: string; since: number }) {
  const { store, runner } = services;
  // The stored cost of a running squad does not include its running members.
  const running = runner
    .liveRuns()
    .filter(({ status, createdAt }) => status !== 'queued' && createdAt >= filter.since)
    .filter(({ workspace }) => filter.workspace === undefined || workspace === filter.workspace);
  const stored = await store.dearestSquads(filter, MAX_SQUADS);
  const squads = [...new Set([...stored, ...running.map(({ squadId }) => squadId)])];
  const found = await Promise.all(
    squads.map(async squadId => {
      const sum = new CostSum();
      for await (const page of store.figures({ squadId }))
        for (const each of page) sum.add(withCurrentUsage(services, each));
      return { squadId, ...sum.cost() };
    }),
  );
  const titled = found
    .sort(dearestFirst)
    .slice(0, MAX_SQUADS)
    .map(async each => {
      const [squad, [first]] = await Promise.all([
        store.squad(each.squadId),
        store.runs({ squadId: each.squadId, limit: 1 }),
      ]);
      // The squad was removed while the report was made.
      if (!squad || !first) return null;
      const title = oneLine(runSummary(first), MAX_TITLE_LENGTH);
      return { ...each, title, createdAt: squad.createdAt };
    });
  return (await Promise.all(titled)).filter(each => each !== null);
}

/** Sorted by cost. Squads with unknown cost come last, those with the most runs first. */
const dearestFirst = (a: Cost, b: Cost): number => (b.costUsd ?? -1) - (a.costUsd ?? -1) || b.runs - a.runs;
