import type { Removal } from '../../core/ports/worktrees.ts';
import { removalEvent } from '../../core/worktrees/removal-event.ts';
import type { UserServices } from '../operation.ts';
import type { KnownWorktree } from './known-worktrees.ts';

/** Removes a work tree unless a run is at work in it, and tells what became of it. */
export async function removeWorktree(
  services: UserServices,
  { worktree, runs }: KnownWorktree,
  saveLarge = false,
): Promise<Removal> {
  const { runner, worktrees, store, clock } = services;
  const live = runner.liveRuns().find(run => run.worktree?.path === worktree.path);
  // A reply may have come in since the look at it.
  if (live) return { outcome: 'kept', why: `${live.id} is at work in it` };
  const removal = await worktrees.remove(worktree, { dropEmptyBranch: true, saveLarge });
  const { id: runId, squadId } = runs[0]!;
  await store.commit({
    events: [{ at: clock.now(), runId, squadId, body: removalEvent(worktree, removal) }],
  });
  return removal;
}
