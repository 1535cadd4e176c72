import type { Branches } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { GitError } from '../git/git.ts';
import { prepareFile } from './branch-file.ts';
import { applyMove, undoMove } from './branch-move.ts';
import { type BranchPlace, openPlace, tipOf } from './branch-place.ts';
import { prepareAll } from './branch-work.ts';

/** Commits on runs' branches, by git's plumbing: neither the agent's index nor its folder is used to make them. */
export function createBranches({
  env = process.env,
}: {
  env?: Record<string, string | undefined>;
} = {}): Branches {
  const at = <T>(worktree: Worktree, act: (place: BranchPlace) => Promise<T>): Promise<T> =>
    openPlace(worktree, env)
      .then(act)
      .catch(thrown => {
        throw thrown instanceof GitError ? gitFailed(worktree, thrown) : thrown;
      });
  return {
    tip: worktree => at(worktree, tipOf),
    prepareAll: (worktree, message) => at(worktree, place => prepareAll(place, message, env)),
    prepareFile: (worktree, file, message) => at(worktree, place => prepareFile(place, file, message)),
    apply: (worktree, move, path, patienceMs) =>
      at(worktree, place => applyMove({ ...place, patienceMs }, move, path)),
    undo: (worktree, move, path, patienceMs) =>
      at(worktree, place => undoMove({ ...place, patienceMs }, move, path)),
  };
}

const gitFailed = ({ branch }: Worktree, cause: GitError): SquadError =>
  new SquadError('GIT_FAILED', `The branch ${branch} cannot be worked on: ${cause.message}.`, {
    cause,
    suggestions: ['Put that right in the repository, then try again.'],
  });
