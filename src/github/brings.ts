import type { ForgeRepository } from '../core/ports/git-host.ts';
import type { Worktree } from '../schema/worktree.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';

/** Whether a commit changes anything of what its work tree began with, and of what the base branch has by now. */
export async function brings(
  openGit: OpenGit,
  env: Record<string, string | undefined>,
  worktree: Worktree,
  commit: string,
  base: { branch: string; repository: ForgeRepository } | null,
): Promise<boolean> {
  try {
    const git = await openGit(worktree.repository, env);
    const tree = await idOf(git, `${commit}^{tree}`);
    if (tree === (await idOf(git, `${worktree.base}^{tree}`))) return false;
    const meeting = base && (await meetingPoint(git, commit, base));
    return !meeting || tree !== (await idOf(git, `${meeting}^{tree}`));
  } catch (thrown) {
    throw asGitError(thrown, worktree.repository);
  }
}

/** Where the two last were the same, as far as this repository knows the branch. */
async function meetingPoint(
  git: Git,
  commit: string,
  { branch, repository }: { branch: string; repository: ForgeRepository },
): Promise<string | null> {
  for (const ref of [`refs/remotes/${repository.remote}/${branch}`, `refs/heads/${branch}`]) {
    const tip = await idOf(git, `${ref}^{commit}`);
    // Exits with 1 when they have nothing in common.
    if (tip) return String(await git.run(['merge-base', tip, commit], { codes: [1] })).trim() || null;
  }
  return null;
}

const idOf = async (git: Git, name: string): Promise<string | null> =>
  String(
    await git.run(['rev-parse', '--verify', '--quiet', '--end-of-options', name], { codes: [1] }),
  ).trim() || null;
