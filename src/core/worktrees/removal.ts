import type { EventBody } from '../../schema/event.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { Removal, WorktreeState } from '../ports/worktrees.ts';

/** Decision of pruning about a work tree, with the reason. */
interface WorktreeVerdict {
  prune: 'remove' | 'keep';
  why: string;
}

interface Judged {
  worktree: Worktree;
  /** Every run that uses the work tree: the run that it was created for, and replies to that run. */
  runs: readonly Pick<Run, 'id' | 'status'>[];
  state: WorktreeState;
  /** True if the user named the work tree. */
  isNamed: boolean;
  /** True if the user agreed to copy large files into the repository. */
  saveLarge?: boolean;
}

/**
 * Pruning removes a work tree on its own only if it has no unmerged work. Any other is removed only when the user names
 * it; its work is saved then.
 */
export function judgeWorktree(judged: Judged): WorktreeVerdict {
  const { state, isNamed } = judged;
  const obstacle = inUse(judged);
  if (obstacle) return keep(obstacle);
  if (state.folder === 'missing') return remove('its folder is gone: git will forget it, the branch stays');
  if (isNamed) return remove(describeKept(state));
  return unnamed(judged);
}

function inUse({ runs, state, saveLarge = false }: Judged): string | null {
  const live = runs.find(({ status }) => !isEnd(status));
  if (live) return `${live.id} ${LIVE[live.status] ?? 'is running in it'}`;
  if (state.folder === 'foreign') return state.error ?? 'something else is there';
  const [first] = state.processes;
  if (first) return `a process is running in it: ${first.command} (${first.pid})`;
  return state.held ?? (saveLarge ? null : state.large);
}

const LIVE: Partial<Record<Run['status'], string>> = {
  queued: 'waits to start in it',
  waiting_review: 'waits for its review',
  waiting_children: 'waits for its child runs',
  waiting_limit: 'waits for the usage limit of its engine',
};

function unnamed({ worktree, state, runs }: Judged): WorktreeVerdict {
  const { ahead, isMerged, uncommitted, error } = state;
  const { baseBranch } = worktree;
  const name = runs[0]?.id ?? 'RUN';
  if (uncommitted === null || ahead === null)
    return keep(`its content is unknown (${error ?? 'its branch is gone'})`);
  if (uncommitted > 0)
    return keep(
      `${counted(uncommitted, 'file')} not committed: squad diff ${shellWord(name)} shows ${uncommitted === 1 ? 'it' : 'them'}, squad worktrees prune ${shellWord(name)} saves ${uncommitted === 1 ? 'it' : 'them'} under a ref`,
    );
  if (ahead === 0) return remove('it has no changes');
  if (isMerged) return remove(`all its commits are in ${baseBranch}`);
  const where = baseBranch === null ? '' : ` that ${ahead === 1 ? 'is' : 'are'} not in ${baseBranch}`;
  const merge = `squad integrate ${shellWord(name)}`;
  return keep(
    `${counted(ahead, 'commit')}${where}: ${merge} merges ${ahead === 1 ? 'it' : 'them'}, squad worktrees prune ${shellWord(name)} removes the folder (the branch stays)`,
  );
}

function describeKept({ ahead, uncommitted }: WorktreeState): string {
  const saved = uncommitted === 0 ? [] : ['its uncommitted work is saved under a ref'];
  const branch = ahead === 0 ? [] : ['its branch stays'];
  return ['you named it', ...saved, ...branch].join('; ');
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
const keep = (why: string): WorktreeVerdict => ({ prune: 'keep', why });
const remove = (why: string): WorktreeVerdict => ({ prune: 'remove', why });

export function removalEvent({ path, branch }: Worktree, removal: Removal): EventBody {
  if (removal.outcome === 'kept') return { type: 'worktree.kept', path, why: removal.why };
  const savedRef = removal.outcome === 'removed' ? removal.savedRef : null;
  return { type: 'worktree.removed', path, branch, savedRef, branchIsGone: removal.branchIsGone };
}
