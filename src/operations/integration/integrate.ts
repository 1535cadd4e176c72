import { z } from 'zod';
import { Integrated, RunningCheck } from '../../core/integration/integrator.ts';
import { Overlap, overlapOf } from '../../core/integration/overlap.ts';
import type { CheckOrder } from '../../core/integration/plan-integration.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import { RunId } from '../../schema/ids.ts';
import { IntegrationPlan } from '../../schema/integration.ts';
import { type Run, runSummary, ShownStatus } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { currentRun, findRunOrSquad } from '../runs/find-runs.ts';
import { untrustedConfigWarning } from '../settings/change-setting.ts';
import { runsOfRepository, type TreeRun } from '../worktrees/worktrees.ts';

/**
 * Carries out exactly the plan that was shown: the target branch moves to the planned result, or does not move at all.
 */
export const integrate = operation({
  name: 'integrate',
  route: 'POST /integration',
  input: z.strictObject({
    /** Id of the plan to carry out. */
    approve: z.string().min(1),
    /** True to also remove the work trees of merged runs. */
    remove: z.boolean().default(false),
  }),
  output: Integrated,
  run: ({ services }, { approve, remove }) => services.integrator.carryOut(approve, { remove }),
});

const MAX_RUNS = 1_000;
const CHECK_TIMEOUT_MS = 15 * 60_000;

/** Plans the merge of ended runs' branches: order, conflicts, result of the check. Changes no branch. */
export const planIntegration = operation({
  name: 'plan_integration',
  route: 'POST /integration/plan',
  input: z.strictObject({
    /** Ids of runs or squads (default: all completed runs of this repository). */
    ids: z.array(z.string().min(1)).max(1_000).default([]),
    into: z.string().min(1).optional(),
    order: z.enum(['suggested', 'given']).default('suggested'),
    /** A shell command, as the user typed it. With false no check runs, even if one is configured. */
    check: z.union([z.string().min(1), z.literal(false)]).optional(),
    checkTimeoutMs: z.number().int().positive().max(86_400_000).default(CHECK_TIMEOUT_MS),
    /** If false, the check does not run. If a check is set, such a plan cannot be approved. */
    runsCheck: z.boolean().default(true),
  }),
  output: IntegrationPlan,
  async run(call, { ids, into, order, check, checkTimeoutMs, runsCheck }) {
    const { services, caller, progress } = call;
    const workspace = await services.workspaces.open(caller);
    const { root, ignored } = workspace;
    const named = ids.length === 0 ? null : await namedRuns(services, ids);
    const runs = await relatedRuns(services, root, named ?? []);
    const command = check ?? workspace.config.check.value;
    await progress('Trying the merge');
    return services.integrator.plan({
      ...{ runs, into, order, runsCheck },
      checkout: await services.worktrees.checkout(root),
      named: named && new Set(named.map(({ id }) => id)),
      check: command ? await checkOrder(call, workspace, command, checkTimeoutMs) : null,
      untrustedCheck: (check === undefined && ignored.find(({ key }) => key === 'check')?.file) || null,
      warnings: command ? untrustedConfigWarning(ignored.filter(({ key }) => key === 'worktree')) : [],
    });
  },
});

/** The check that a plan is running now, so that its output can be followed. */
export const showCheck = operation({
  name: 'show_check',
  route: 'GET /integration/check',
  input: z.strictObject({}),
  output: z.object({ check: RunningCheck.nullable() }),
  run: async ({ services }) => ({ check: await services.integrator.checkNow() }),
});

async function namedRuns(services: Services, ids: string[]): Promise<Run[]> {
  const found = await Promise.all(ids.map(id => findRunOrSquad(services, id)));
  // Replaces a squad by those of its members that have a work tree.
  const members = found.flatMap(({ squad, runs }) => {
    const withTree = runs.filter(({ worktree }) => worktree);
    return squad && withTree.length > 0 ? withTree : runs;
  });
  return [...new Map(members.map(run => [run.id, run])).values()];
}

/**
 * Runs of the repository, and all runs in the lineages of the named ones: a reply may be running in the same work tree.
 */
async function relatedRuns(services: Services, workspace: string, named: readonly Run[]): Promise<Run[]> {
  const ofRepository = await runsOfRepository(services, workspace);
  const lineages = new Set(named.map(({ lineageId }) => lineageId));
  const related = await Promise.all(
    [...lineages].map(lineageId => services.store.runs({ lineageId, limit: MAX_RUNS })),
  );
  const all = new Map<RunId, Run>(named.map(run => [run.id, run]));
  for (const row of related.flat()) if (!all.has(row.id)) all.set(row.id, await currentRun(services, row));
  for (const { run } of ofRepository) if (!all.has(run.id)) all.set(run.id, run);
  return [...all.values()];
}

async function checkOrder(
  { services, caller, signal }: Pick<Call, 'services' | 'caller' | 'signal'>,
  { root, config }: Workspace,
  command: string | string[],
  limitMs: number,
): Promise<CheckOrder> {
  const env = await services.workspaces.environment(caller);
  const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
  const { copy, setup, setupTimeoutMs } = config.worktree.value;
  return {
    ...{ argv: argv as [string, ...string[]], limitMs, env, workspace: root, signal },
    setup: copy || setup ? { copy, setup, setupTimeoutMs, source: root, env } : null,
  };
}

const MAX_TREES = 500;
const MAX_FILES = 1_000;

/** Finds files that several work trees of this repository have changed. */
export const findOverlap = operation({
  name: 'find_overlap',
  route: 'GET /overlap',
  input: z.strictObject({}),
  output: z.object({
    runs: z.array(
      z.object({
        runId: RunId,
        name: z.string(),
        summary: z.string(),
        status: ShownStatus,
        /** Number of files that the run changed. Null if unknown, for the reason in `why`. */
        files: z.number().nullable(),
        why: z.string().nullable(),
      }),
    ),
    ...Overlap.shape,
    /** Number of files that are not listed. */
    moreFiles: z.number(),
  }),
  async run({ services, caller }) {
    const { root } = await services.workspaces.open(caller);
    const trees = await latestRuns(services, root);
    const touched = await services.integration.touched(trees.map(({ worktree }) => worktree));
    const shown = trees.map(({ run }, at) => ({
      ...{ runId: run.id, name: runName(run), summary: runSummary(run), status: shownStatus(run) },
      files: touched[at]?.files?.length ?? null,
      why: touched[at]?.why ?? null,
    }));
    const changes = trees.map(({ run, repository }, at) => ({
      ...{ runId: run.id, repository },
      files: touched[at]?.files ?? [],
    }));
    // Files are compared per repository: the same path in two repositories is not the same file.
    const overlaps = [...Map.groupBy(changes, ({ repository }) => repository).values()].map(overlapOf);
    const files = overlaps.flatMap(overlap => overlap.files);
    return {
      runs: shown.filter(({ files: count }) => count !== 0),
      files: files.slice(0, MAX_FILES),
      pairs: overlaps.flatMap(overlap => overlap.pairs),
      moreFiles: Math.max(0, files.length - MAX_FILES),
    };
  },
});

/**
 * The last run of each work tree whose branch still exists. Runs of reviewers are left out, because their branches are
 * not merged.
 */
async function latestRuns(services: Services, workspace: string): Promise<TreeRun[]> {
  const last = new Map<string, TreeRun>();
  for (const each of (await runsOfRepository(services, workspace)).toReversed())
    if (each.run.reviewOf === null) last.set(each.worktree.path, each);
  const found: TreeRun[] = [];
  for (const [repository, trees] of Map.groupBy(last.values(), each => each.repository)) {
    // An error of git is ignored here, because reading each work tree reports it.
    const tips = await services.integration.tips(repository, null).catch(() => null);
    found.push(...trees.filter(({ worktree }) => !tips || tips.has(worktree.branch)));
  }
  return found.slice(-MAX_TREES);
}
