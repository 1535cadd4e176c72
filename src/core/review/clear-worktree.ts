import { isEnd, type Run } from '../../schema/run.ts';
import { removalEvent } from '../worktrees/removal-event.ts';
import { eventOf, type ReviewPorts } from './ports.ts';

/**
 * Takes away the work tree of a run that is done with it, as far as that can be done without losing anything, and tells. False:
 * another run is at work in it.
 */
export async function clearWorktree(run: Run, ports: ReviewPorts): Promise<boolean> {
  const { worktree } = run;
  if (!worktree) return true;
  const { clock, store, worktrees, runner } = ports;
  const isItsPlace = (other: Run) => other.worktree?.path === worktree.path && !isEnd(other.status);
  if (runner.liveRuns().some(isItsPlace)) return false;
  // Only a reviewer's branch is nobody's: what a coder has done is for people to decide on.
  const removal = await worktrees.remove(worktree, { dropEmptyBranch: run.reviewOf !== null });
  await store.commit({ events: [eventOf(clock, run, removalEvent(worktree, removal))] });
  return true;
}
