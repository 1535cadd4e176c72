import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { type Git, GitError, openGit } from '../git/git.ts';

/** A work tree's branch, and how git is asked about it. */
export interface BranchPlace {
  worktree: Worktree;
  git: Git;
  ref: string;
  /** False: its folder is gone, or is something else by now, and git is asked in the user's own work tree. */
  hasFolder: boolean;
  /** How long a git of the agent's is waited for. */
  patienceMs?: number;
}

export async function openPlace(
  worktree: Worktree,
  env: Record<string, string | undefined>,
): Promise<BranchPlace> {
  const [there, main] = await Promise.all([opened(worktree.path, env), opened(worktree.repository, env)]);
  const ref = `refs/heads/${worktree.branch}`;
  if (there && (await isLinked(there, main))) return { worktree, git: there, ref, hasFolder: true };
  if (main) return { worktree, git: main, ref, hasFolder: false };
  throw new SquadError(
    'WORKTREE_MISSING',
    `Neither the work tree ${worktree.path} nor its repository ${worktree.repository} is there.`,
    {
      suggestions: ['If the repository was moved, move it back or `git worktree repair` it.'],
    },
  );
}

export interface Standing {
  tip: string;
  /** Of the tip. */
  tree: string;
  /** Its folder is there, and on this branch. */
  isCheckedOut: boolean;
}

/** By one git. A branch that points to another is nobody's doing but an agent's: to move it would move that one. */
export async function standingOf({ git, ref, worktree, hasFolder }: BranchPlace): Promise<Standing> {
  const format = '--format=%(objectname)%00%(tree)%00%(HEAD)%00%(symref)';
  const answer = String(await git.run(['for-each-ref', format, '--', ref])).trim();
  const [tip, tree = '', mark, symref] = answer.split('\0');
  if (symref)
    throw new SquadError('GIT_FAILED', `The branch ${worktree.branch} is only a name for ${symref}.`, {
      suggestions: [
        `Make it a branch again: \`git symbolic-ref -d ${shellWord(ref)}\`, then \`git branch\`.`,
      ],
    });
  if (tip) return { tip, tree, isCheckedOut: hasFolder && mark === '*' };
  throw new SquadError('WORKTREE_MISSING', `There is no branch ${worktree.branch} any more.`, {
    suggestions: ['`git reflog` in its work tree still names its commits.'],
  });
}

export const tipOf = async (place: BranchPlace): Promise<string> => (await standingOf(place)).tip;

/** What HEAD of the work tree points to; null: a commit, not a branch. */
export async function headOf({ git }: BranchPlace): Promise<string | null> {
  return String(await git.run(['symbolic-ref', '-q', 'HEAD'], { codes: [1] })).trim() || null;
}

const UNDER_WAY: readonly [string, string][] = [
  ['MERGE_HEAD', 'a merge'],
  ['rebase-merge', 'a rebase'],
  ['rebase-apply', 'a rebase'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  ['sequencer', 'a cherry-pick or revert of several commits'],
  ['BISECT_LOG', 'a bisect'],
];

/** What the agent's own git is in the middle of, or null. */
export const gitOperationInProgress = ({ git }: Pick<BranchPlace, 'git'>): string | null =>
  UNDER_WAY.find(([name]) => existsSync(join(git.folder.gitDir, name)))?.[1] ?? null;

async function opened(folder: string, env: Record<string, string | undefined>): Promise<Git | null> {
  try {
    const git = await openGit(folder, env);
    // Further up there may be a repository that has nothing to do with it.
    return git.folder.root === folder ? git : null;
  } catch (thrown) {
    if (thrown instanceof GitError) return null;
    throw thrown;
  }
}

/** The file `.git` in the folder is the agent's to write: it counts only where it leads to the repository we know. */
async function isLinked({ folder }: Git, main: Git | null): Promise<boolean> {
  const [gitDir, common, known] = await Promise.all(
    [folder.gitDir, folder.commonDir, main?.folder.commonDir ?? folder.commonDir].map(path =>
      realpath(path).catch(() => null),
    ),
  );
  return gitDir !== null && common === known && dirname(gitDir!) === join(common!, 'worktrees');
}
