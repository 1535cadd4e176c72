import { type BigIntStats, existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { branchMoved, targetBlocked } from '../../core/integration/checklist.ts';
import type { Checkpoint, FolderFit, TargetMove } from '../../core/ports/integration.ts';
import { eachOf, statWorkFile } from '../files/file-stamp.ts';
import { joinPaths, pathBytes, pathText } from '../files/paths.ts';
import { branchTip, committer, isAncestor, type TreeChange } from '../git/commits.ts';
import { type Environment, type Git, ignoreExitOne, openGit, runWithLockRetry } from '../git/git.ts';
import { gitOperationInProgress } from '../git/git-folder.ts';
import { type GitIndex, indexOf, ownIndex, withIndexCopy } from '../git/git-index.ts';
import { treeChanges } from '../git/git-status.ts';
import { withIndexLock } from '../git/index-lock.ts';
import { createStash, exchangeFiles, restoreStash } from './exchange-files.ts';

const MAX_NAMED = 20;

/**
 * Whether a work tree can move from one commit to another without overwriting anything of the user. Changes nothing.
 */
export async function folderFit(git: Git, { from, to }: { from: string; to: string }): Promise<FolderFit> {
  const { files, submodules } = await treeChanges(git, from, to);
  const paths = files.map(({ path }) => path);
  const changed = await withIndexCopy(git, from, async index => {
    await index.unhide(new Set(paths));
    return index.changedPaths({ commit: from });
  });
  const untracked = await untrackedInTheWay(git.folder.root, files);
  const written = files.filter(({ is }) => is).map(({ path }) => path);
  const filtered = written.length === 0 ? [] : await ownIndex(git).filteredPaths(written);
  const operation = gitOperationInProgress(git);
  return {
    obstacles: [
      ...(operation ? [`${operation} is under way`] : []),
      ...named(
        paths.filter(path => changed.has(path)),
        'has uncommitted changes',
      ),
      ...named(untracked, 'exists but is not in git'),
    ],
    warnings: [
      ...named(
        filtered,
        'uses a filter such as Git LFS, which Squad does not run: it will have the content that git stores',
      ),
      ...named(submodules, 'is a submodule that will be at another commit: `git submodule update` follows'),
    ],
  };
}

/** Existing files where a new file has to go, ignored by git or not. They must not be overwritten. */
async function untrackedInTheWay(root: string, files: readonly TreeChange[]): Promise<string[]> {
  const leaving = new Set(files.filter(({ is }) => !is).map(({ path }) => path));
  const found = new Set<string>();
  const checked = new Set<string>();
  for (const { path, was } of files) {
    if (was) continue;
    const stat = await statWorkFile(root, path);
    if (stat && !(stat.isDirectory() && (await onlyLeaving(root, path, leaving)))) found.add(path);
    for (let folder = dirname(path); folder !== '.' && !checked.has(folder); folder = dirname(folder)) {
      checked.add(folder);
      const above = await statWorkFile(root, folder);
      if (above && !above.isDirectory() && !leaving.has(folder)) found.add(folder);
    }
  }
  return [...found];
}

/** Whether a folder that has to become a file contains only files that are removed anyway. */
async function onlyLeaving(root: string, folder: string, leaving: ReadonlySet<string>): Promise<boolean> {
  for (const entry of await readdir(pathBytes(root, folder), { encoding: 'latin1', withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    const goes = entry.isDirectory() ? await onlyLeaving(root, path, leaving) : leaving.has(path);
    if (!goes) return false;
  }
  return true;
}

function named(paths: readonly string[], what: string): string[] {
  const more = paths.length - MAX_NAMED;
  return [
    ...paths.slice(0, MAX_NAMED).map(path => `${pathText(path)} ${what}`),
    ...(more > 0 ? [`and ${more} more like it`] : []),
  ];
}

const CHECKOUT_TIMEOUT_MS = 120_000;

/** Moves the branch before the files. After that, a process that finds the move half done can only finish it. */
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

/** Finishes a move that was interrupted after the branch had moved, or undoes the move. */
export async function settleMove(
  move: TargetMove,
  env: Environment,
): Promise<{ moved: boolean; notes: string[] }> {
  const git = await openGit(move.repository, env);
  const tip = await branchTip(git, move.target);
  const moved = tip !== null && (await isAncestor(git, move.to, tip));
  if (move.folder === null || !existsSync(move.folder)) return { moved, notes: [] };
  const folder = await openGit(move.folder, env);
  return withIndexLock(folder.folder.gitDir, async () => {
    await removeScratchIndexes(folder.folder.gitDir);
    const notes = await restoreStash(folder, move.from);
    const head = String(await folder.run(['symbolic-ref', '-q', 'HEAD'], { codes: [1] })).trim();
    if (tip !== move.to || head !== `refs/heads/${move.target}`) return { moved, notes };
    return { moved, notes: [...notes, ...(await followBranch(folder, move, () => {}))] };
  });
}

/**
 * Removes scratch indexes that a killed process left. The caller holds the lock on the index, so no other process is
 * using one.
 */
async function removeScratchIndexes(gitDir: string): Promise<void> {
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
  } catch (error) {
    if ((await branchTip(git, target)) !== from) throw branchMoved(target, error);
    throw error;
  }
}

/**
 * Brings files and index of a work tree from one commit to another, after its branch has moved. A file is removed
 * only if it matches the old commit, and no file is overwritten. So after a crash the function can simply run again.
 * The caller holds the lock on the index and has restored the stash. Returns notes about files that could not be
 * updated.
 */
const followBranch = (git: Git, move: TargetMove, checkpoint: Checkpoint): Promise<string[]> =>
  withIndexCopy(git, move.from, before =>
    withIndexCopy(git, move.from, after => follow(git, move, { before, after }, checkpoint)),
  );

async function follow(
  git: Git,
  { from, to }: TargetMove,
  { before, after }: Record<'before' | 'after', GitIndex>,
  checkpoint: Checkpoint,
): Promise<string[]> {
  const { root } = git.folder;
  const { files } = await treeChanges(git, from, to);
  if (await isDone(before, to, files)) return [];
  await after.run(['read-tree', '-i', '-m', from, to]);
  const paths = new Set(files.map(({ path }) => path));
  await before.unhide(paths);
  const hidden = await after.unhide(paths);

  // The files are inspected before git reads them. If they have the same stats afterwards, the stats describe the files
  // that git has read.
  const seen = await statsOf(root, files);
  const [unlikeOld, unlikeNew] = [await before.changedPaths(), await after.changedPaths()];
  const goes = new Map<string, BigIntStats>();
  const wanted: string[] = [];
  for (const { path, was, is } of files) {
    const stat = seen.get(path);
    const isOld = stat && was && !unlikeOld.has(path) && (!is || unlikeNew.has(path));
    if (isOld) goes.set(path, stat);
    // A folder at the path does not count as a file.
    const isFree = !stat || stat.isDirectory();
    if (is && (isOld || isFree) && !hidden.absent.has(path)) wanted.push(path);
  }

  const stash = await createStash(git);
  let notes: string[];
  try {
    const comes = await writeNew(after, stash.next, wanted);
    notes = await exchangeFiles({ root, stash, goes, files, comes }, checkpoint);
  } finally {
    await rm(stash.next, { recursive: true, force: true });
  }
  const unlikeAfter = await after.changedPaths();
  await after.setSkipWorktree(hidden.skipped.filter(path => !unlikeAfter.has(path)));
  await rename(after.file, indexOf(git));
  checkpoint('index installed');

  const present = await statsOf(root, files);
  return [
    ...files
      .filter(({ path, is }) => is && unlikeAfter.has(path))
      .map(({ path }) => `${pathText(path)} was left as it is in the folder`),
    ...files
      .filter(({ path, is }) => !is && present.get(path)?.isDirectory() === false)
      .map(({ path }) => `${pathText(path)} is still in the folder: it had changes of its own`),
    ...notes,
  ];
}

/** Whether the move is complete. The index is installed last, so if it is new, everything else is new too. */
async function isDone(index: GitIndex, to: string, files: readonly TreeChange[]): Promise<boolean> {
  const left = new Set((await index.changesFrom(to)).map(({ path }) => path));
  return files.length > 0 && !files.some(({ path }) => left.has(path));
}

/**
 * Writes files into a separate folder, so that the attributes of the new commit apply. Returns the files that are
 * complete.
 */
async function writeNew(
  index: GitIndex,
  folder: string,
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const command = [`--work-tree=${folder}`, 'checkout-index', '-q', '-u', '-z', '--stdin'];
  try {
    await index.run(command, joinPaths(paths), CHECKOUT_TIMEOUT_MS);
    return new Set(paths);
  } catch (error) {
    ignoreExitOne(error);
    const changed = await index.changedPaths({ folder });
    return new Set(paths.filter(path => !changed.has(path)));
  }
}

async function statsOf(root: string, files: readonly TreeChange[]): Promise<Map<string, BigIntStats>> {
  const found = await eachOf(files, ({ path }) => statWorkFile(root, path));
  return new Map(files.flatMap(({ path }, at) => (found[at] ? [[path, found[at]] as const] : [])));
}
