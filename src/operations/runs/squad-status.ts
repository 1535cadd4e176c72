import { z } from 'zod';
import { runBudget, startOfDay } from '../../core/cost/budget.ts';
import { firstThatFit } from '../../core/output/digest.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, namedSummary, type Run } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { currentRun, findRun } from './find-runs.ts';
import { RESULT_LIMIT } from './run-result.ts';
import { waitingFor } from './wait.ts';

const MAX_RELATIVES = 1000;

const Own = z.object({
  spawn_id: z.string(),
  squad_id: z.string(),
  role_id: z.string().nullable(),
  status: z.string(),
  depth: z.number(),
  may_spawn: z.boolean(),
  seconds_left: z.number().nullable(),
  budget_usd: z.number().nullable(),
  spent_usd: z.number().nullable(),
});
const Child = z.object({
  spawn_id: z.string(),
  role_id: z.string().nullable(),
  status: z.string(),
  task_summary: z.string(),
});
const Sibling = z.object({ role_id: z.string().nullable(), status: z.string() });

/** An agent sees itself, the runs it started and the state of its squad; the user sees all runs. */
export const squadStatus = operation({
  name: 'squad_status',
  route: 'POST /tools/squad_status',
  agents: 'always',
  tool: {
    title: 'Squad status',
    description:
      'Agents: your run, its time and budget, the runs you started, and how your squad is doing. Clients: runs, limits and spending today.',
    readOnly: true,
    toolset: 'team',
    isDefaultWithTeam: true,
  },
  input: z.strictObject({}),
  output: z.object({
    run: Own.optional(),
    children: z.array(Child).optional(),
    siblings: z.array(Sibling).optional(),
    running: z.number().optional(),
    queued: z.number().optional(),
    limits: z.record(z.string(), z.number()).optional(),
    spent_today_usd: z.number().optional(),
    note: z.string().optional(),
  }),
  run: ({ services, caller }: Call) =>
    caller.parent ? ofRun(services, caller.parent.id) : ofEverything(services),
});

async function ofRun(services: Services, id: RunId) {
  const { store, settings } = services;
  const run = await findRun(services, id);
  const [ofParent, ofSquad] = await Promise.all([
    store.runs({ parentId: id, limit: MAX_RELATIVES }),
    store.runs({ squadId: run.squadId, limit: MAX_RELATIVES }),
  ]);
  const now = (rows: Run[]) => Promise.all(rows.map(row => currentRun(services, row)));
  const children = (await now(ofParent)).map(child => ({
    spawn_id: child.id,
    role_id: child.roleId,
    status: shownStatus(child),
    task_summary: namedSummary(child),
  }));
  const siblings = (await now(ofSquad))
    .filter(other => other.id !== id)
    .map(other => ({ role_id: other.roleId, status: shownStatus(other) }));
  const shownChildren = firstThatFit(children, RESULT_LIMIT / 2);
  const shownSiblings = firstThatFit(siblings, RESULT_LIMIT / 4);
  const left = children.length + siblings.length - shownChildren.length - shownSiblings.length;
  const notes = [...(await waitingFor(services, [run])), ...(left > 0 ? [`${left} more are not shown`] : [])];
  return {
    run: {
      spawn_id: run.id,
      squad_id: run.squadId,
      role_id: run.roleId,
      status: run.status,
      depth: run.depth,
      may_spawn: run.options.spawn && !isEnd(run.status) && run.depth < settings.all()['limits.depth'],
      seconds_left: secondsLeft(services, run),
      budget_usd: runBudget(run.options.budgetUsd, settings.all()),
      spent_usd: (run.usage ?? services.runner.usageOf(id))?.costUsd ?? null,
    },
    children: shownChildren,
    siblings: shownSiblings,
    ...(notes.length > 0 && { note: notes.join(' ') }),
  };
}

function secondsLeft({ runner }: Services, { id }: Run): number | null {
  const left = runner.timeLeft(id);
  return left === null ? null : Math.max(0, Math.round(left / 1000));
}

async function ofEverything({ runner, settings, store, clock }: Services) {
  const live = runner.liveRuns();
  const queued = live.filter(run => run.status === 'queued').length;
  const since = startOfDay(clock.now());
  // The database gets the cost of running runs only after their end.
  const unwritten = live
    .filter(run => run.createdAt >= since)
    .reduce((sum, run) => sum + (runner.usageOf(run.id)?.costUsd ?? 0), 0);
  return {
    running: live.length - queued,
    queued,
    limits: Object.fromEntries(
      Object.entries(settings.all()).filter(
        ([key]) => key.startsWith('limits.') || key.startsWith('budget.'),
      ),
    ) as Record<string, number>,
    spent_today_usd: (await store.spent({ since })) + unwritten,
  };
}
