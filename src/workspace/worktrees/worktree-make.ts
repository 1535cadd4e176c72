import { mkdir, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { type Git, GitTrouble } from '../git/git.ts';
import { runPatiently } from '../git/git-patience.ts';
import { moveAside } from './discard-folder.ts';
import { settleWorktree } from './settle-worktree.ts';
import { saveLoose } from './worktree-loose.ts';
import { lockedWords, lookAt, registered } from './worktree-place.ts';
import { commitsBetween, type Repository, tipsOf } from './worktree-repository.ts';

/** A big repository on a slow disk. */
const CHECKOUT_MS = 600_000;

/** Folder, branch and what git knows of them, by one command where nothing is in the way. Returns its git folder. */
export async function addWorktree(
  { git, commonDir }: Repository,
  worktree: Worktree,
  signal?: AbortSignal,
): Promise<string> {
  const { path, branch, base } = worktree;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const how = { limitMs: CHECKOUT_MS, signal };
  const fresh = ['worktree', 'add', '--quiet', '-b', branch, path, base];
  try {
    await runPatiently(git, fresh, how);
  } catch (trouble) {
    if (!isInTheWay(trouble)) throw trouble;
    const wasOurs = await dropRecord(git, commonDir, path);
    const isThere = await branchIsThere(git, worktree, wasOurs);
    await runPatiently(git, isThere ? ['worktree', 'add', '--quiet', path, branch] : fresh, how);
  }
  return settleWorktree(git, path);
}

/** Takes away all that its making may have left, but no commit. */
export async function undoWorktree(
  { git, commonDir }: Repository,
  { path, branch, base }: Worktree,
): Promise<void> {
  const place = await lookAt(path, commonDir);
  if (place.kind === 'empty') await rmdir(path);
  if (place.kind === 'whole') return;
  if (place.kind === 'half' || place.kind === 'torn') await moveAside(path);
  await dropRecord(git, commonDir, path);
  const [tip = null] = await tipsOf(git, branch);
  // Git refuses where somebody has it checked out.
  if (tip === base) await git.run(['branch', '-D', '--quiet', branch]).catch(() => {});
}

/** Lets git forget a work tree whose folder is gone. False: it knew of none. */
export async function dropRecord(git: Git, commonDir: string, path: string): Promise<boolean> {
  const gitDir = await registered(commonDir, path);
  if (!gitDir) return false;
  const lock = await lockedWords(gitDir, path);
  if (lock) throw new GitTrouble(`the work tree ${path} is gone, and ${lock}`);
  await saveLoose(git, path, gitDir);
  await rmdir(path).catch(() => {}); // an empty folder would make git refuse
  // Twice, because git may have locked it itself while it was at it.
  await runPatiently(git, ['worktree', 'remove', '-f', '-f', path]);
  return true;
}

const isInTheWay = (trouble: unknown): boolean =>
  trouble instanceof GitTrouble &&
  /already exists|already registered|already checked out|missing but locked/.test(trouble.said);

/** A branch of that name is this work tree's if git knew them together, or if it goes on from where that began. */
async function branchIsThere(git: Git, { branch, base }: Worktree, wasOurs: boolean): Promise<boolean> {
  const [tip = null] = await tipsOf(git, branch);
  if (tip === null) return false;
  if (wasOurs || (await commitsBetween(git, tip, base)) === 0) return true;
  throw new SquadError('BRANCH_EXISTS', `There is a branch ${branch} already, and it is not this run's.`, {
    suggestions: [`Rename or delete it in ${git.folder.root}, then try again.`],
  });
}
