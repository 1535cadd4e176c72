import { z } from 'zod';
import { oneLine } from '../../base/text.ts';
import {
  dayOf,
  isUnpriced,
  isUnreported,
  lastDays,
  type RunFigures,
  roundSum,
} from '../../core/cost/usage.ts';
import { SquadId } from '../../schema/ids.ts';
import { isEnd, runSummary } from '../../schema/run.ts';
import { operation, type Services } from '../operation.ts';

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
    const ofDays = new Map(days.map(day => [dayOf(day), new CostSum()]));
    const ofRoles = new Map<string, RoleSum>();
    const squads = new DearestSquads();
    const total = new CostSum();
    const unpriced = { runs: 0, models: new Set<string>() };
    for await (const page of store.figures({ workspace, since: days[0]! }))
      for (const row of page) {
        const run = withCurrentUsage(services, row);
        const { roleId, subagent } = run;
        const key = JSON.stringify([roleId, subagent]);
        const ofRole = ofRoles.get(key) ?? { roleId, subagent, cost: new CostSum() };
        ofRoles.set(key, ofRole);
        for (const sum of [total, ofDays.get(dayOf(run.createdAt)), ofRole.cost]) sum?.add(run);
        squads.add(run);
        if (!isUnreported(run, run.usage) || !isUnpriced(run)) continue;
        unpriced.runs++;
        unpriced.models.add(run.model!);
      }
    const byDay = [...ofDays].map(([day, sum]) => ({ day, ...sum.cost() }));
    const all = settings.all();
    return {
      days: byDay,
      roles: [...ofRoles.values()]
        .map(({ cost, ...role }) => ({ ...role, ...cost.cost() }))
        .sort(dearestFirst),
      squads: await withTitles(services, squads.dearest()),
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

/** The usage of a running run is in the database only after its end. */
function withCurrentUsage({ runner }: Pick<Services, 'runner'>, row: RunFigures): RunFigures {
  const now = isEnd(row.status) ? null : runner.current(row.id);
  return now ? { ...row, status: now.status, usage: runner.usageOf(row.id) ?? now.usage } : row;
}

/** Adds up runs one by one: there may be a million. */
class CostSum {
  private readonly sums: Record<'costUsd' | 'input' | 'output', number | null> = {
    costUsd: null,
    input: null,
    output: null,
  };
  private isEstimated = false;
  private runs = 0;
  private unreported = 0;

  add(run: RunFigures): void {
    const { usage } = run;
    this.runs++;
    if (isUnreported(run, usage)) this.unreported++;
    if (usage === null) return;
    for (const name of ['costUsd', 'input', 'output'] as const)
      if (usage[name] !== null) this.sums[name] = (this.sums[name] ?? 0) + usage[name];
    this.isEstimated ||= usage.costIsEstimated;
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

type SquadCost = Cost & { squadId: SquadId };

/** Keeps only the squads that are shown. Runs of one squad have one creation time, and come in the order of that. */
class DearestSquads {
  private found: SquadCost[] = [];
  private readonly current = new Map<SquadId, CostSum>();
  private createdAt = Number.NaN;

  add(run: RunFigures): void {
    if (run.createdAt !== this.createdAt) this.close();
    this.createdAt = run.createdAt;
    const sum = this.current.get(run.squadId) ?? new CostSum();
    this.current.set(run.squadId, sum);
    sum.add(run);
  }

  dearest(): SquadCost[] {
    this.close();
    return this.kept();
  }

  private close(): void {
    for (const [squadId, sum] of this.current) this.found.push({ squadId, ...sum.cost() });
    this.current.clear();
    if (this.found.length > 100 * MAX_SQUADS) this.found = this.kept();
  }

  private kept(): SquadCost[] {
    return this.found.sort(dearestFirst).slice(0, MAX_SQUADS);
  }
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
