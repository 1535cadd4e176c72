import { SquadError } from '../../schema/error.ts';
import type { Role } from '../../schema/role.ts';

interface ReviewerRole {
  roleId: string;
  /** Note for the coder about the choice of the reviewer. */
  note: string | null;
}

/** The configured role, otherwise `reviewer`, otherwise the first role of type review. */
export function reviewerRole(roles: readonly Role[], configured: string | undefined): ReviewerRole {
  if (configured !== undefined) return named(roles, configured);
  const able = roles
    .filter(({ meta, fault }) => meta.type === 'review' && fault === null)
    .map(({ id }) => id)
    .sort();
  const [first] = able;
  if (first === undefined) throw nobody(roles);
  if (able.includes('reviewer')) return { roleId: 'reviewer', note: null };
  return {
    roleId: first,
    note:
      able.length === 1
        ? null
        : `Several roles can review (${able.join(', ')}); ${first} is used. \`review.role\` in .squad/squad.json chooses another.`,
  };
}

function named(roles: readonly Role[], id: string): ReviewerRole {
  const role = roles.find(each => each.id === id);
  if (role?.meta.type === 'review') return { roleId: id, note: null };
  throw new SquadError(
    role ? 'ROLE_INVALID' : 'ROLE_UNKNOWN',
    role
      ? `The setting review.role names the role ${id}, which is not of type review`
      : `The setting review.role names the role ${id}, which does not exist`,
    { suggestions: role ? [madeReviewer(role)] : ['`squad roles` lists the roles.'] },
  );
}

function nobody(roles: readonly Role[]): SquadError {
  const untrusted = roles.find(({ ungranted }) => ungranted.includes('type'));
  return new SquadError('ROLE_UNKNOWN', 'There is no role of type review, so no reviewer can be started', {
    suggestions: [
      untrusted
        ? madeReviewer(untrusted)
        : 'Create one with `type: review` in its frontmatter; `squad init` creates the role reviewer.',
    ],
  });
}

const madeReviewer = ({ ungranted, file }: Role): string =>
  ungranted.includes('type')
    ? `\`type\` in ${file} has no effect until you run \`squad trust\`.`
    : `It needs \`type: review\` in the frontmatter of ${file}.`;

export const worktreeNeeded = (message: string): SquadError =>
  new SquadError('WORKTREE_NEEDED', message, {
    suggestions: [
      'Start the run again with `isolation: "worktree"` in the call (spawn_agent, start_squad_members) or with `squad run --worktree`, or put `isolation: worktree` into the frontmatter of its role.',
    ],
  });
