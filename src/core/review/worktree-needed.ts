import { SquadError } from '../../schema/error.ts';

/** Whoever started the run may be a call of a tool, a terminal or a role: each is told its own way. */
export const worktreeNeeded = (message: string): SquadError =>
  new SquadError('WORKTREE_NEEDED', message, {
    suggestions: [
      'Start the run again with `isolation: "worktree"` in the call (spawn_agent, start_squad_members) or with `squad run --worktree`, or put `isolation: worktree` into the frontmatter of its role.',
    ],
  });
