import type { EventBody } from '../../schema/event.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { Removal } from '../ports/worktrees.ts';

/** What became of a work tree that was to be removed, for the record. */
export function removalEvent({ path, branch }: Worktree, removal: Removal): EventBody {
  if (removal.outcome === 'kept') return { type: 'worktree.kept', path, why: removal.why };
  const savedRef = removal.outcome === 'removed' ? removal.savedRef : null;
  return { type: 'worktree.removed', path, branch, savedRef, branchIsGone: removal.branchIsGone };
}
