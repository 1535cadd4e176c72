import { existsSync } from 'node:fs';
import type { Touched } from '../../core/ports/integration.ts';
import { FEEDBACK_FILE } from '../../schema/review.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { pathText } from '../files/path-text.ts';
import { type Git, GitTrouble, openGit } from '../git/git.ts';
import { readStatusAmongMany } from '../git/git-status.ts';
import { PLAIN_DIFF } from '../git/tracked-changes.ts';

type Environment = Record<string, string | undefined>;

/** What a work tree has changed since it left its base branch, by two git processes side by side. Never rejects. */
export async function touchedFiles(worktree: Worktree, env: Environment): Promise<Touched> {
  try {
    const isThere = existsSync(worktree.path);
    const git = await openGit(isThere ? worktree.path : worktree.repository, env);
    const [committed, uncommitted] = await Promise.all([
      committedFiles(git, worktree, isThere ? 'HEAD' : `refs/heads/${worktree.branch}`),
      isThere ? uncommittedFiles(git) : [],
    ]);
    const files = new Set([...committed, ...uncommitted]);
    // It does not come along when the branch is merged.
    files.delete(FEEDBACK_FILE);
    return { files: [...files].sort(), why: null };
  } catch (trouble) {
    if (trouble instanceof GitTrouble) return { files: null, why: trouble.message };
    return { files: null, why: `the folder could not be looked at (${(trouble as Error).message})` };
  }
}

/** Since the branch left its base, so that what it took over from there meanwhile does not count. */
async function committedFiles(git: Git, { base, baseBranch }: Worktree, tip: string): Promise<string[]> {
  const since = async (from: string) => {
    const list = await git.run([...PLAIN_DIFF, '--name-only', '-z', `${from}...${tip}`, '--']);
    return list
      .toString('latin1')
      .split('\0')
      .filter(path => path !== '')
      .map(pathText);
  };
  if (baseBranch === null) return since(base);
  return since(`refs/heads/${baseBranch}`).catch(trouble => {
    // Somebody may have removed that branch; the commit it began at is still there.
    if (trouble instanceof GitTrouble && trouble.exitCode === 128) return since(base);
    throw trouble;
  });
}

const uncommittedFiles = async (git: Git): Promise<string[]> =>
  (await readStatusAmongMany(git)).entries.map(({ path }) => pathText(path));
