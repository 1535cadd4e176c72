import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { branchMoved, targetBlocked } from '../../core/integration/checklist.ts';
import type { Checkpoint, TargetMove } from '../../core/ports/integration.ts';
import { type Git, GitError, openGit, runWithLockRetry } from '../git/git.ts';
import { committer } from '../git/git-folder.ts';
import { withIndexLock } from '../git/git-index.ts';
import { restoreStash } from './file-stash.ts';
import { folderFit } from './folder-fit.ts';
import { followBranch } from './follow-branch.ts';
import { isIn } from './trial-merge.ts';

type Environment = Record<string, string | undefined>;

/** The branch goes first: from then on whoever finds the work half done can only go on with it. */
export async function moveTarget(
  move: TargetMove,
  env: Environment,
  checkpoint: Checkpoint,
): Promise<string[]> {
  const git = await openGit(move.folder ?? move.repository, env);
  const identity = await committer(git, env);
  if (move.folder === null) {
    await moveRef(git, move, identity);
    checkpoint('branch moved');
    return [];
  }
  return withIndexLock(git.folder.gitDir, async () => {
    checkpoint('index locked');
    const notes = await restoreStash(git, move.from);
    const { obstacles } = await folderFit(git, move);
    if (obstacles.length > 0) throw targetBlocked(move.target, git.folder.root, obstacles);
    await moveRef(git, move, identity);
    checkpoint('branch moved');
    return [...notes, ...(await followBranch(git, move, checkpoint))];
  });
}

/** After a move that did not come to its end. */
export async function settleMove(
  move: TargetMove,
  env: Environment,
): Promise<{ moved: boolean; notes: string[] }> {
  const git = await openGit(move.repository, env);
  const tip = await tipOf(git, move.target);
  const moved = tip !== null && (tip === move.to || (await isIn(git, move.to, tip)));
  if (move.folder === null || !existsSync(move.folder)) return { moved, notes: [] };
  const folder = await openGit(move.folder, env);
  return withIndexLock(folder.folder.gitDir, async () => {
    await removeScratch(folder.folder.gitDir);
    const notes = await restoreStash(folder, move.from);
    const isThere = (await checkedOut(folder)) === `refs/heads/${move.target}`;
    if (!moved || !isThere || tip !== move.to) return { moved, notes };
    return { moved, notes: [...notes, ...(await followBranch(folder, move, () => {}))] };
  });
}

/** Exactly this branch, not what git makes of a name: null where there is none. */
export async function tipOf(git: Git, branch: string): Promise<string | null> {
  try {
    const args = ['show-ref', '--verify', '--hash', `refs/heads/${branch}`];
    return String(await git.run(args)).trim();
  } catch (trouble) {
    if (trouble instanceof GitError && /not a valid ref/.test(trouble.said)) return null;
    throw trouble;
  }
}

async function checkedOut(git: Git): Promise<string> {
  return String(await git.run(['symbolic-ref', '-q', 'HEAD'], { codes: [1] })).trim();
}

/** What a process that was killed had of the index: whoever makes one there does so one at a time. */
async function removeScratch(gitDir: string): Promise<void> {
  for (const name of await readdir(gitDir))
    if (name.startsWith('squad-index-')) await rm(join(gitDir, name), { recursive: true, force: true });
}

async function moveRef(
  git: Git,
  { target, from, to }: TargetMove,
  env: Record<string, string>,
): Promise<void> {
  const args = ['update-ref', '--create-reflog', '-m', 'squad integrate', `refs/heads/${target}`, to, from];
  try {
    await runWithLockRetry(git, args, { env });
  } catch (trouble) {
    const tip = await tipOf(git, target);
    if (tip !== from) throw branchMoved(target, trouble);
    throw trouble;
  }
}
