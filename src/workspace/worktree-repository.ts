import { realpath } from 'node:fs/promises';
import type { Worktree } from '../schema/worktree.ts';
import { type Git, openGit } from './git.ts';
import { findGitFolder } from './git-folder.ts';

export interface Repository {
  git: Git;
  /** What all its work trees share, links resolved: its name in the queue. */
  commonDir: string;
}

/** The repository a work tree belongs to. Null: it is gone, or is another one now. */
export async function repositoryOf(
  { repository, path }: Worktree,
  env: Record<string, string | undefined>,
): Promise<Repository | null> {
  // The user's own checkout may have been a linked one that is gone; then the work tree itself still leads there.
  for (const root of [repository, path]) {
    const folder = await findGitFolder(root);
    const commonDir = folder?.root === root ? await realpath(folder.commonDir).catch(() => null) : null;
    if (commonDir) return { git: await openGit(root, env), commonDir };
  }
  return null;
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
  return from === to ? 0 : Number(String(await git.run(['rev-list', '--count', to, `^${from}`])));
}
