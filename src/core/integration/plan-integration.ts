import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { IntegrationPlan, PlannedBranch } from '../../schema/integration.ts';
import type { BranchMove } from '../../schema/intent.ts';
import { type Run, runName, runSummary } from '../../schema/run.ts';
import type { BranchTip, TrialOutcome } from '../ports/integration.ts';
import type { Branches } from '../ports/worktrees.ts';
import { type Candidate, chooseCandidates, type LeftOut, repositoryOf, targetOf } from './candidates.ts';
import { checklistOf, checkWords } from './checklist.ts';
import { leftWorkMessage, mergeMessage } from './merge-message.ts';
import { suggestedOrder } from './order.ts';
import { overlapOf } from './overlap.ts';
import { type CheckOrder, type TryOutPorts, tryOut } from './try-out.ts';

export interface PlanPorts extends TryOutPorts {
  branches: Branches;
}

export interface PlanRequest {
  /** All that could be meant, with a work tree or not. */
  runs: readonly Run[];
  /** Only these; null: whatever has completed. */
  named: ReadonlySet<RunId> | null;
  into?: string;
  order: 'suggested' | 'given';
  /** Null: none is set. */
  check: CheckOrder | null;
  /** False: the plan says that it was not run, and cannot be approved where there is one. */
  runsCheck: boolean;
}

/** A candidate with what its branch holds, the work it had not committed included. */
interface Ready extends Candidate {
  runId: RunId;
  endedAt: number | null;
  files: readonly string[];
  tip: string;
  move: BranchMove | null;
  /** Why its work cannot be committed. */
  refusal: string | null;
}

/** What is kept for the approval, beside what is shown. */
export interface MadePlan {
  plan: Omit<IntegrationPlan, 'planId'>;
  moves: { runId: RunId; worktree: Ready['worktree']; move: BranchMove }[];
}

/** Everything short of changing a branch: what would be merged in which order, what conflicts, what the check says. */
export async function planIntegration(ports: PlanPorts, request: PlanRequest): Promise<MadePlan> {
  const { integration } = ports;
  const { candidates, leftOut } = chooseCandidates(request.runs, request.named);
  if (candidates.length === 0) return { plan: emptyPlan(leftOut), moves: [] };
  const repository = repositoryOf(candidates);
  const target = targetOf(candidates, request.into);
  const [tips, { commit: from, checkedOutAt }] = await Promise.all([
    integration.tips(repository, target),
    integration.target(repository, target),
  ]);
  const ready = await prepared(ports, candidates, tips, { request, leftOut });
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
    ...elsewhere.map(place => `${target} is checked out at ${place} too, which would not follow`),
    ...inFolder,
  ];

  const merges = branches.filter(({ outcome }) => outcome === 'merges').length;
  const runsCheck = request.runsCheck && merges > 0 && obstacles.length === 0;
  const check = await checked(ports, { repository, commit: to }, request.check, runsCheck);
  const facts = { branches, check, target, obstacles };
  const plan = {
    ...{ repository, target, from, to, folder, branches, leftOut, check, warnings },
    checklist: checklistOf(facts),
    blocked: blockedBy(facts, merges),
  };
  const taken = ready.filter(({ runId }) => outcomes.get(runId)?.outcome === 'merged');
  const moves = taken.flatMap(({ runId, worktree, move }) => (move ? { runId, worktree, move } : []));
  return { plan, moves };
}

async function prepared(
  { branches, integration }: PlanPorts,
  candidates: readonly Candidate[],
  tips: ReadonlyMap<string, BranchTip>,
  { request, leftOut }: { request: PlanRequest; leftOut: LeftOut[] },
): Promise<Ready[]> {
  const found: Omit<Ready, 'files'>[] = [];
  for (const { run, worktree } of candidates) {
    const known = tips.get(worktree.branch);
    const isNamed = request.named !== null;
    if (!known) {
      if (isNamed) leftOut.push({ runId: run.id, why: `its branch ${worktree.branch} is gone` });
      continue;
    }
    const { move, refusal } = await uncommitted(branches, run, worktree);
    // Of what was merged long ago nobody wants to hear again.
    if (known.isMerged && !move && refusal === null && !isNamed) continue;
    const { id: runId, endedAt } = run;
    found.push({ run, worktree, runId, endedAt, tip: move?.to ?? known.tip, move, refusal });
  }
  const touched = await integration.touched(found.map(({ worktree }) => worktree));
  return found.map((each, at) => ({ ...each, files: touched[at]?.files ?? [] }));
}

async function uncommitted(
  branches: Branches,
  run: Run,
  worktree: Candidate['worktree'],
): Promise<Pick<Ready, 'move' | 'refusal'>> {
  try {
    return { move: await branches.prepareAll(worktree, leftWorkMessage(run)), refusal: null };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    // Without its folder there is nothing uncommitted.
    if (thrown.code === 'WORKTREE_MISSING') return { move: null, refusal: null };
    if (thrown.code === 'UNCOMMITTABLE') return { move: null, refusal: thrown.message };
    throw thrown;
  }
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
  return { command, ...(await tryOut(ports, result, order)) };
}

function blockedBy(
  { branches, check, target, obstacles }: Parameters<typeof checklistOf>[0],
  merges: number,
): IntegrationPlan['blocked'] {
  const inConflict = branches.filter(({ outcome }) => outcome === 'conflict');
  if (merges === 0 && inConflict.length > 0) {
    const files = [...new Set(inConflict.flatMap(({ conflicts }) => conflicts))];
    return { code: 'MERGE_CONFLICT', message: `No branch can be merged into ${target}: ${files.join(', ')}` };
  }
  if (merges > 0 && obstacles.length > 0)
    return { code: 'TARGET_BLOCKED', message: `${target} cannot be moved: ${obstacles.join('; ')}` };
  if (check && !['passed', 'not_run'].includes(check.outcome))
    return { code: 'CHECK_FAILED', message: `The check said no to the merged result: ${checkWords(check)}` };
  return null;
}

const emptyPlan = (leftOut: LeftOut[]): MadePlan['plan'] => ({
  ...{ repository: null, target: null, from: null, to: null, folder: null },
  ...{ branches: [], leftOut, check: null, checklist: [], warnings: [], blocked: null },
});
