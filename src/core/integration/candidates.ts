import { oneLine } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { IntegrationPlan } from '../../schema/integration.ts';
import type { BranchMove } from '../../schema/review.ts';
import { isEnd, type Run, runSummary } from '../../schema/run.ts';
import { type NamedRun, runName } from '../../schema/run-text.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { BranchTip, Integration } from '../ports/integration.ts';
import type { Branches, Checkout, Worktrees } from '../ports/worktrees.ts';

interface Candidate {
  /** The last run in the work tree. */
  run: Run;
  worktree: Worktree;
}

export type LeftOut = IntegrationPlan['leftOut'][number];

interface Chosen {
  candidates: Candidate[];
  leftOut: LeftOut[];
}

/** Chooses the runs whose branches can be merged, from all of these runs or from the named ones. Keeps their order. */
export function chooseCandidates(runs: readonly Run[], named: ReadonlySet<RunId> | null): Chosen {
  const chosen: Chosen = { candidates: [], leftOut: [] };
  const trees = Map.groupBy(runs, run => run.worktree?.path ?? run.id);
  for (const sharing of trees.values()) {
    const isNamed = sharing.some(({ id }) => named?.has(id));
    if (named && !isNamed) continue;
    // The branch of a reviewer is skipped, because it is not meant to be merged.
    if (!named && sharing.every(({ reviewOf }) => reviewOf !== null)) continue;
    const run = sharing.reduce((last, each) => (each.createdAt > last.createdAt ? each : last));
    const never = reasonAgainst(run, sharing);
    const why = never ?? (isNamed ? null : reasonToAsk(run));
    if (why !== null) chosen.leftOut.push({ runId: run.id, why, canBeNamed: never === null });
    else if (run.worktree) chosen.candidates.push({ run, worktree: run.worktree });
  }
  return chosen;
}

/** Why a run's branch cannot be merged. */
function reasonAgainst(run: Run, sharing: readonly Run[]): string | null {
  if (!run.worktree) return 'it has no work tree of its own';
  if (run.reviewOf !== null) return `it is a review of ${run.reviewOf}, whose branch is merged instead`;
  const live = sharing.find(({ status }) => !isEnd(status));
  if (live) return `${live.id === run.id ? 'it' : live.id} has not ended`;
  return null;
}

/** Why a run's branch is merged only if the caller names the run. */
function reasonToAsk(run: Run): string | null {
  if (isAtReviewLimit(run)) return 'its last review did not approve and no more are allowed';
  return run.status === 'completed' ? null : `it ended as ${run.status}`;
}

/**
 * Checkouts of the repository that all candidates share: the caller's, and those in which the runs were started.
 * `names` are the names of the repositories, in the order of the candidates.
 */
export function checkoutsOf(
  candidates: readonly Candidate[],
  names: readonly string[],
  caller: Checkout | null,
): [string, ...string[]] {
  const roots = [...new Set(candidates.map(({ worktree }) => worktree.repository))];
  if (new Set(names).size > 1)
    throw new SquadError('INVALID_INPUT', `These runs belong to several repositories: ${roots.join(', ')}`, {
      suggestions: ['Name only runs of one repository: `squad integrate RUN…`.'],
    });
  const own = caller && caller.repository === names[0] ? [caller.root] : [];
  return [...new Set([...own, ...roots])] as [string, ...string[]];
}

/** The target branch: the caller's choice, or the branch that all candidates started from. */
export function targetOf(candidates: readonly Candidate[], into: string | undefined): string {
  if (into !== undefined) return into;
  const targets = [...new Set(candidates.map(({ worktree }) => worktree.baseBranch))];
  const [only] = targets;
  if (targets.length === 1 && only) return only;
  const meant = targets.map(branch => branch ?? 'none').join(', ');
  throw new SquadError('INVALID_INPUT', `These runs started from different branches: ${meant}`, {
    suggestions: ['Choose the target branch with `--into BRANCH`.'],
  });
}

const MAX_SUMMARY_LENGTH = 60;

type Named = NamedRun & Pick<Run, 'id' | 'title' | 'task'>;

/** Message of the commit that merges a run's branch. */
export const mergeMessage = (run: Named): string =>
  `${runName(run)}: ${aboutOf(run)}\n\nRun: ${run.id}\nRole: ${run.roleId ?? 'none'}\nEngine: ${run.engine}\n`;

/** Message for the commit of work that an ended run left uncommitted. */
const uncommittedWorkMessage = (run: Named): string =>
  `Work of ${run.id}: ${aboutOf(run)}\n\nIt had ended without committing this.\n`;

const aboutOf = (run: Named): string => oneLine(runSummary(run), MAX_SUMMARY_LENGTH);

/** A candidate with the content of its branch, including uncommitted work. */
export interface Ready extends Candidate {
  runId: RunId;
  /** Name of its repository. */
  name: string;
  endedAt: number | null;
  files: readonly string[];
  tip: string;
  move: BranchMove | null;
  /** Why the branch's work cannot be committed. Null if it can be. */
  refusal: string | null;
}

interface ReadyPorts {
  branches: Branches;
  integration: Pick<Integration, 'tips' | 'touched'>;
  worktrees: Pick<Worktrees, 'repositoryOf'>;
}

interface Asked {
  request: { named: ReadonlySet<RunId> | null; into?: string };
  /** Named runs whose branch no longer exists are added to this list. */
  leftOut: LeftOut[];
}

/** Candidates with something to merge, plus all named ones. An unnamed run that is already merged is left out. */
export async function readyBranches(
  ports: ReadyPorts,
  candidates: readonly Candidate[],
  { request, leftOut }: Asked,
): Promise<Ready[]> {
  const tipsOf = tipsReader(ports.integration);
  const isNamed = request.named !== null;
  const found: Omit<Ready, 'files'>[] = [];
  for (const { run, worktree } of candidates) {
    const name = await ports.worktrees.repositoryOf(worktree);
    const known = name && (await tipsOf(name, request.into ?? worktree.baseBranch)).get(worktree.branch);
    if (!name || !known) {
      const what = name ? `branch ${worktree.branch}` : `repository ${worktree.repository}`;
      if (isNamed) leftOut.push({ runId: run.id, why: `its ${what} is gone`, canBeNamed: false });
      continue;
    }
    const { move, refusal } = await uncommitted(ports.branches, run, worktree);
    if (known.isMerged && !move && refusal === null && !isNamed) continue;
    const { id: runId, endedAt } = run;
    found.push({ run, worktree, runId, name, endedAt, tip: move?.to ?? known.tip, move, refusal });
  }
  const touched = await ports.integration.touched(found.map(({ worktree }) => worktree));
  return found.map((each, at) => ({ ...each, files: touched[at]?.files ?? [] }));
}

/** Asks git once for each repository and branch. */
function tipsReader(integration: ReadyPorts['integration']) {
  const read = new Map<string, Promise<Map<string, BranchTip>>>();
  return (repository: string, into: string | null) => {
    const key = `${repository}\0${into ?? ''}`;
    const tips = read.get(key) ?? integration.tips(repository, into);
    read.set(key, tips);
    return tips;
  };
}

async function uncommitted(
  branches: Branches,
  run: Run,
  worktree: Candidate['worktree'],
): Promise<Pick<Ready, 'move' | 'refusal'>> {
  try {
    return { move: await branches.prepareAll(worktree, uncommittedWorkMessage(run)), refusal: null };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    // A work tree whose folder is missing has no uncommitted work.
    if (thrown.code === 'WORKTREE_MISSING') return { move: null, refusal: null };
    if (thrown.code === 'UNCOMMITTABLE') return { move: null, refusal: thrown.message };
    throw thrown;
  }
}
