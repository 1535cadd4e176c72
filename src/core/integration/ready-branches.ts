import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { BranchMove } from '../../schema/intent.ts';
import type { Run } from '../../schema/run.ts';
import type { BranchTip, Integration } from '../ports/integration.ts';
import type { Branches, Worktrees } from '../ports/worktrees.ts';
import type { Candidate, LeftOut } from './candidates.ts';
import { leftWorkMessage } from './merge-message.ts';

/** A candidate with what its branch holds, the work it had not committed included. */
export interface Ready extends Candidate {
  runId: RunId;
  /** Of its repository. */
  name: string;
  endedAt: number | null;
  files: readonly string[];
  tip: string;
  move: BranchMove | null;
  /** Why its work cannot be committed. */
  refusal: string | null;
}

interface ReadyPorts {
  branches: Branches;
  integration: Pick<Integration, 'tips' | 'touched'>;
  worktrees: Pick<Worktrees, 'repositoryOf'>;
}

interface Asked {
  request: { named: ReadonlySet<RunId> | null; into?: string };
  /** Named ones that have no branch any more are added to it. */
  leftOut: LeftOut[];
}

/** Those with something to merge, and those that were named. Of what was merged long ago nobody wants to hear again. */
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
      if (isNamed) leftOut.push({ runId: run.id, why: `its ${what} is gone` });
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
    return { move: await branches.prepareAll(worktree, leftWorkMessage(run)), refusal: null };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    // Without its folder there is nothing uncommitted.
    if (thrown.code === 'WORKTREE_MISSING') return { move: null, refusal: null };
    if (thrown.code === 'UNCOMMITTABLE') return { move: null, refusal: thrown.message };
    throw thrown;
  }
}
