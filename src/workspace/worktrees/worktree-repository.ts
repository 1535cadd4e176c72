import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import type { Checkout } from '../../core/ports/worktrees.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { nearestReal } from '../files/nearest-real.ts';
import { isInside } from '../files/real-place.ts';
import { type Git, openGit } from '../git/git.ts';
import { findGitFolder, type GitFolder } from '../git/git-folder.ts';
import { COMMITTER } from './branch-commit.ts';

export interface Repository {
  git: Git;
  /** What all its work trees share, links resolved: its name in the queue. */
  commonDir: string;
}

/** The repository a work tree belongs to. Null: it is gone, or is another one now. */
export async function repositoryOf(
  worktree: Worktree,
  env: Record<string, string | undefined>,
): Promise<Repository | null> {
  const way = await wayTo(worktree);
  return way && { git: await openGit(way.root, env), commonDir: way.commonDir };
}

/** From where it is reached, and what all its work trees share. */
export async function wayTo({
  repository,
  path,
}: Worktree): Promise<{ root: string; commonDir: string } | null> {
  // The user's own checkout may have been a linked one that is gone; then the work tree itself still leads there.
  for (const root of [repository, path]) {
    const folder = await findGitFolder(root);
    const commonDir = folder?.root === root ? await realpath(folder.commonDir).catch(() => null) : null;
    if (commonDir) return { root, commonDir };
  }
  return null;
}

/** The checkout around a place, null also where no folder can be; `ours` is where Squad's own work trees are. */
export async function checkoutAround(place: string, ours: string): Promise<Checkout | null> {
  const real = isAbsolute(place) ? await nearestReal(place).catch(() => null) : null;
  const folder = real && (await findGitFolder(real));
  if (!folder) return null;
  const root = usersRoot(folder, await nearestReal(ours));
  return { root, repository: await realpath(folder.commonDir).catch(() => folder.commonDir) };
}

/** One of ours may be gone tomorrow: the repository it came of is what stays. */
export function usersRoot({ root, commonDir }: GitFolder, ours: string): string {
  return isInside(ours, root) && commonDir.endsWith('/.git') ? dirname(commonDir) : root;
}

/** The branch's tip, and the other's if one is named; null: there is no such branch. */
export async function tipsOf(git: Git, branch: string, other?: string | null): Promise<(string | null)[]> {
  const wanted = [branch, ...(other ? [other] : [])].map(name => `refs/heads/${name}`);
  const list = String(await git.run(['for-each-ref', '--format=%(objectname) %(refname)', ...wanted]));
  const tips = new Map(
    list.split('\n').map(line => [line.slice(line.indexOf(' ') + 1), line.split(' ', 1)[0]!]),
  );
  return wanted.map(ref => tips.get(ref) ?? null);
}

/** How many commits one has that the other has not. */
export async function commitsBetween(git: Git, from: string, to: string): Promise<number> {
  return from === to
    ? 0
    : Number(String(await git.run(['rev-list', '--count', to, `^${from}`], { env: COMMITTER })));
}
