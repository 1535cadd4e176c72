import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';

/** A branch stands in the way of its own name, and of every name that goes on from it. */
export function refuseTaken(branch: string, refs: Map<string, string>, commonDir: string): void {
  const parts = branch.split('/');
  const taken = parts.map((_, i) => parts.slice(0, i + 1).join('/')).find(name => refs.has(name));
  if (taken)
    throw new SquadError(
      'BRANCH_EXISTS',
      `The branch ${branch} cannot be made: there is a branch ${taken}.`,
      {
        suggestions: [
          `Rename it: git --git-dir ${shellWord(commonDir)} branch -m ${shellWord(taken)} ANOTHER-NAME`,
        ],
      },
    );
}

/** There is none, or one in which nothing can be checked out. */
export async function noRepository(directory: string): Promise<SquadError> {
  const bare = await bareAround(directory);
  if (bare)
    return new SquadError(
      'REPOSITORY_UNSUITABLE',
      `${bare} is a bare repository: nothing is checked out in it.`,
      {
        suggestions: [
          `Work in a checkout of it: git -C ${shellWord(bare)} worktree add ../work, then name that folder.`,
        ],
      },
    );
  return new SquadError(
    'NOT_A_REPOSITORY',
    `${directory} is not in a git repository, and only that can have work trees.`,
    {
      suggestions: [
        'Make it one (git init, then a first commit), or work in the folder itself: `isolation: "none"` in the call, `squad run --no-worktree` in a terminal.',
      ],
    },
  );
}

async function bareAround(directory: string): Promise<string | null> {
  for (let folder = directory; ; folder = dirname(folder)) {
    const parts = ['HEAD', 'objects', 'refs'].map(name => stat(join(folder, name)).then(() => true));
    if ((await Promise.allSettled(parts)).every(({ status }) => status === 'fulfilled')) return folder;
    if (dirname(folder) === folder) return null;
  }
}

export const noCommits = (root: string): SquadError =>
  new SquadError(
    'REPOSITORY_UNSUITABLE',
    `${root} has no commits yet, so there is nothing to make a work tree of.`,
    {
      suggestions: ['Make a first commit: git commit --allow-empty -m "Begin"'],
    },
  );
