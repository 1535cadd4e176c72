import { chooseCandidates } from '../../core/integration/candidates.ts';
import { judgeWorktree } from '../../core/worktrees/worktree-verdict.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import type { UserServices } from '../operation.ts';
import { knownWorktreeOf } from '../worktrees/known-worktrees.ts';
import { asItIsNow } from './find.ts';

const MOST_RUNS = 1_000;

/** Whether there is anything of it to merge; conflicts are what the plan is for. */
export async function checkIntegration(services: UserServices, run: Run) {
  const { store, worktrees } = services;
  const rows = await store.runs({ lineageId: run.lineageId, limit: MOST_RUNS });
  const related = await Promise.all(rows.map(row => asItIsNow(services, row)));
  const { candidates, leftOut } = chooseCandidates(related, new Set([run.id]));
  const [candidate] = candidates;
  if (!candidate) throw refusal(run, leftOut[0]?.why ?? 'it has no work tree of its own');
  const { worktree } = candidate;
  const { tip, ahead, isMerged, uncommitted } = await worktrees.state(worktree);
  if (tip === null) throw refusal(run, `its branch ${worktree.branch} is gone`);
  // Without its folder there is nothing uncommitted.
  if ((uncommitted ?? 0) > 0) return {};
  if (ahead === 0) throw refusal(run, 'nothing was done on its branch');
  if (isMerged) throw refusal(run, `all of it is in ${worktree.baseBranch}`);
  return {};
}

export async function checkRemoval(services: UserServices, run: Run) {
  if (run.worktree === null)
    throw new SquadError('INVALID_INPUT', `Run ${run.id} has no work tree of its own.`);
  const known = await knownWorktreeOf(services, run);
  if (known === null) throw new SquadError('WORKTREE_MISSING', `The work tree of run ${run.id} is gone`);
  const { worktree, runs } = known;
  const state = await services.worktrees.state(worktree);
  const verdict = judgeWorktree({ worktree, runs, state, isNamed: true });
  if (verdict.prune === 'keep') throw new SquadError('WORKTREE_IN_USE', verdict.why);
  return { effect: `Removes the folder: ${verdict.why}.` };
}

const refusal = ({ id }: Run, why: string): SquadError =>
  new SquadError('NOTHING_TO_PROPOSE', `Nothing of run ${id} can be merged: ${why}`);
