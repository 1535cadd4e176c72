import type { Clock } from '../../base/clock.ts';
import { newRunId, type RunId } from '../../schema/ids.ts';
import type { IntegrationPlan, PlannedBranch } from '../../schema/integration.ts';
import type { BranchMove, Intent } from '../../schema/review.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { CheckEnd, Integration, RunCheck, TrialOutcome } from '../ports/integration.ts';
import type { Store } from '../ports/store.ts';
import type { Branches, Checkout, WorktreeSetup, Worktrees } from '../ports/worktrees.ts';
import {
  checkoutsOf,
  chooseCandidates,
  type LeftOut,
  mergeMessage,
  type Ready,
  readyBranches,
  targetOf,
} from './candidates.ts';
import { blockedBy, checklistOf } from './checklist.ts';
import { overlapOf, type Touching } from './overlap.ts';

export interface CheckOrder {
  argv: [string, ...string[]];
  limitMs: number;
  env: Record<string, string>;
  /** Command that prepares the work tree of the check, the same as for the work trees of runs. */
  setup: Omit<WorktreeSetup, 'logFile' | 'confine'> | null;
  /** Folder of the workspace. The check runs in the corresponding folder of its temporary work tree. */
  workspace: string;
  signal?: AbortSignal;
}

interface TryOutPorts {
  clock: Clock;
  store: Store;
  worktrees: Worktrees;
  integration: Integration;
  runCheck: RunCheck;
  /** File for the output of the set-up command. */
  setupLog: string;
}

/** Runs the check on a commit, in a temporary work tree. */
async function runMergeCheck(
  ports: TryOutPorts,
  { repository, commit }: { repository: string; commit: string },
  order: CheckOrder,
): Promise<CheckEnd> {
  const { clock, store, worktrees } = ports;
  const { workspace, signal } = order;
  const ask = { runId: newRunId(), name: 'check', directory: repository, workspace };
  const tree = { ...(await worktrees.plan(ask)).worktree, base: commit };
  const intent: Intent = { id: `check:${ask.runId}`, at: clock.now(), kind: 'check', tree };
  await store.commit({ intents: [intent], events: [] });
  try {
    await worktrees.ensure(
      tree,
      order.setup && { ...order.setup, logFile: ports.setupLog, confine: null },
      signal,
    );
    const { argv, env, limitMs } = order;
    return await ports.runCheck({ argv, env, limitMs, cwd: tree.workspace, signal });
  } finally {
    if (await removeCheckTree(ports, tree)) await store.commit({ intentsDone: [intent.id], events: [] });
  }
}

/**
 * Removes the work tree of a check. Files in it are not kept, because they are nobody's work. False if the work tree is
 * still there.
 */
export async function removeCheckTree(
  { worktrees, integration }: Pick<TryOutPorts, 'worktrees' | 'integration'>,
  tree: Worktree,
): Promise<boolean> {
  const removal = await worktrees.remove(tree, { dropEmptyBranch: true });
  if (removal.outcome === 'kept') return false;
  if (removal.outcome === 'removed' && removal.savedRef !== null)
    await integration.dropRef(tree.repository, removal.savedRef);
  return true;
}

interface Orderable extends Touching {
  endedAt: number | null;
}

/**
 * The best merge order: branches that share no files with others first, so that they are merged whatever happens to the
 * rest; among equals, the run that ended first.
 */
export function suggestedOrder<T extends Orderable>(runs: readonly T[]): T[] {
  const shared = new Map<string, number>();
  for (const { runs: among } of overlapOf(runs).files)
    for (const id of among) shared.set(id, (shared.get(id) ?? 0) + 1);
  const overlap = ({ runId }: T) => shared.get(runId) ?? 0;
  const end = ({ endedAt }: T) => endedAt ?? Number.POSITIVE_INFINITY;
  return runs.toSorted(
    (a, b) => overlap(a) - overlap(b) || compare(end(a), end(b)) || compare(a.runId, b.runId),
  );
}

const compare = <V extends number | string>(a: V, b: V): number => (a < b ? -1 : a > b ? 1 : 0);

export interface PlanPorts extends TryOutPorts {
  branches: Branches;
}

export interface PlanRequest {
  /** All runs that could be merged, with or without a work tree. */
  runs: readonly Run[];
  /** Runs to merge. Null for all runs that have completed. */
  named: ReadonlySet<RunId> | null;
  /** The checkout in which the caller is. Null if the caller is in none. */
  checkout: Checkout | null;
  into?: string;
  order: 'suggested' | 'given';
  /** Check to run on the merge result. Null if none is set. */
  check: CheckOrder | null;
  /** The config file whose check is ignored until the user trusts the file. */
  untrustedCheck: string | null;
  /** Warnings about other configuration that was ignored. */
  warnings: readonly string[];
  /** If false, the plan reports that the check was not run, and cannot be approved if a check is set. */
  runsCheck: boolean;
}

/** The plan that is shown, with the data that carrying it out needs. */
export interface MadePlan {
  plan: Omit<IntegrationPlan, 'planId'>;
  moves: { runId: RunId; worktree: Ready['worktree']; move: BranchMove }[];
}

/** Plans a merge without changing a branch: the order, the conflicts, the result of the check. */
export async function planIntegration(ports: PlanPorts, request: PlanRequest): Promise<MadePlan> {
  const { integration } = ports;
  const { candidates, leftOut } = chooseCandidates(request.runs, request.named);
  const ready = await readyBranches(ports, candidates, { request, leftOut });
  if (ready.length === 0) return { plan: emptyPlan(leftOut), moves: [] };
  const checkouts = checkoutsOf(
    ready,
    ready.map(({ name }) => name),
    request.checkout,
  );
  const target = targetOf(ready, request.into);
  const { commit: from, checkedOutAt } = await integration.target(checkouts[0], target);
  // Prefers the checkout in which the target is checked out, because its files have to be updated.
  const repository = checkouts.find(root => checkedOutAt.includes(root)) ?? checkouts[0];
  const order = request.order === 'given' ? ready : suggestedOrder(ready);
  const mergeable = order.filter(({ refusal }) => refusal === null);
  const trial = await integration.trial(
    repository,
    { commit: from, branch: target },
    mergeable.map(({ run, tip, worktree: { branch } }) => ({ branch, tip, message: mergeMessage(run) })),
    request.check?.signal,
  );
  const to = trial.result;
  const outcomes = new Map(mergeable.map(({ runId }, at) => [runId, trial.outcomes[at]!]));
  const branches = plannedBranches(order, outcomes, from);

  const elsewhere = checkedOutAt.filter(folder => folder !== repository);
  const folder = checkedOutAt.includes(repository) ? repository : null;
  const { obstacles: inFolder, warnings } = await integration.fit({ repository, target, from, to, folder });
  const obstacles = [
    ...elsewhere.map(place => `${target} is also checked out at ${place}, which would not be updated`),
    ...inFolder,
  ];

  const merges = branches.filter(({ outcome }) => outcome === 'merges').length;
  const isClear = merges > 0 && obstacles.length === 0 && request.untrustedCheck === null;
  const check = await checked(ports, { repository, commit: to }, request.check, request.runsCheck && isClear);
  const { untrustedCheck } = request;
  const facts = { branches, check, untrustedCheck, target, folder, obstacles };
  const plan = {
    ...{ repository, target, from, to, folder, branches, leftOut, check },
    warnings: [...warnings, ...request.warnings],
    checklist: checklistOf(facts),
    blocked: blockedBy(facts),
  };
  const taken = ready.filter(({ runId }) => outcomes.get(runId)?.outcome === 'merged');
  const moves = taken.flatMap(({ runId, worktree, move }) => (move ? { runId, worktree, move } : []));
  return { plan, moves };
}

function plannedBranches(
  order: readonly Ready[],
  outcomes: ReadonlyMap<RunId, TrialOutcome>,
  from: string,
): PlannedBranch[] {
  const { pairs } = overlapOf(order);
  return order.map(({ run, runId, worktree, move, refusal }) => {
    const trial = outcomes.get(runId);
    return {
      runId,
      name: runName(run),
      summary: runSummary(run),
      status: run.status,
      branch: worktree.branch,
      outcome: trial ? (trial.outcome === 'merged' ? 'merges' : trial.outcome) : 'refused',
      commit: trial?.outcome === 'merged' ? trial.commit : null,
      files: trial?.outcome === 'merged' ? trial.files : null,
      conflicts: trial?.outcome === 'conflict' ? trial.files : [],
      messages: refusal !== null ? [refusal] : trial?.outcome === 'conflict' ? trial.messages : [],
      hunks: trial?.outcome === 'conflict' ? trial.hunks : [],
      commitsWork: move !== null && trial?.outcome === 'merged',
      overlaps: pairs.flatMap(({ runs }) => (runs.includes(runId) ? runs.filter(id => id !== runId) : [])),
      isBehind: worktree.base !== from,
    };
  });
}

async function checked(
  ports: PlanPorts,
  result: { repository: string; commit: string },
  order: CheckOrder | null,
  runs: boolean,
): Promise<IntegrationPlan['check']> {
  if (!order) return null;
  const command = order.argv;
  if (!runs) return { command, outcome: 'not_run', exitCode: null, output: '', durationMs: null };
  return { command, ...(await runMergeCheck(ports, result, order)) };
}

const emptyPlan = (leftOut: LeftOut[]): MadePlan['plan'] => ({
  ...{ repository: null, target: null, from: null, to: null, folder: null },
  ...{ branches: [], leftOut, check: null, checklist: [], warnings: [], blocked: null },
});
