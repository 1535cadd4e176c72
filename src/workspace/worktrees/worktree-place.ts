import { randomBytes } from 'node:crypto';
import { lstat, readdir, realpath, rename } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { nullIfMissing } from '../../base/missing-file.ts';
import type { Checkout } from '../../core/ports/worktrees.ts';
import { removeTree } from '../../process/output/own-folder.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { isInside, resolveExistingPart, splitPaths } from '../files/paths.ts';
import { isPlainFile, readPlainFile } from '../files/text-file.ts';
import { type Environment, type Git, openGit } from '../git/git.ts';
import { findGitFolder, type GitFolder } from '../git/git-folder.ts';
import { isPrivateGit } from '../git/private-git.ts';

/** State of the path of a work tree. */
export type Place =
  | { kind: 'missing' }
  /** An empty folder, left by an interrupted git. */
  | { kind: 'empty' }
  /**
   * `unready`: the set-up was interrupted, so no agent has used the work tree. `interrupted`: git was interrupted
   * before it had checked out all files.
   */
  | { kind: 'ready' | 'unready' | 'interrupted'; gitDir: string }
  | { kind: 'foreign'; why: string };

/**
 * Marker file that exists from the creation of the work tree until the work tree is ready. Until then the work tree
 * contains no work of an agent.
 */
export const makingFile = (gitDir: string): string => join(gitDir, 'squad-making');
/**
 * Marker file in the work tree's git folder. It is written last, and an agent may be running in the work tree after
 * that.
 */
export const readyFile = (gitDir: string): string => join(gitDir, 'squad-ready');
/**
 * Marker file that is written after the set-up. A work tree may be created first and set up when its agent is about to
 * start.
 */
export const setUpFile = (gitDir: string): string => join(gitDir, 'squad-set-up');
/**
 * NUL-separated paths of files that came from the set-up and that git does not ignore. They are not the agent's work.
 */
export const copiedFile = (gitDir: string): string => join(gitDir, 'squad-copied');

/** Ignore rules from outside the work tree, saved when it was created. Files that later rules hide count as work. */
export const ignoreRulesFile = (gitDir: string): string => join(gitDir, 'squad-ignore-rules');

/** An agent can write the `.git` file in its folder, so that file counts only if it leads to the known repository. */
export async function inspectPlace(path: string, commonDir: string | null): Promise<Place> {
  const found = await lstat(path).catch(nullIfMissing);
  if (!found) return { kind: 'missing' };
  if (!found.isDirectory()) return foreign('something that is not a folder is there');
  const link = await lstat(join(path, '.git')).catch(nullIfMissing);
  if (!link) {
    const isEmpty = (await readdir(path)).length === 0;
    return isEmpty ? { kind: 'empty' } : foreign('the folder there is not a work tree of git');
  }
  if (!link.isFile()) {
    const isRepository = !link.isDirectory() || (await readdir(join(path, '.git'))).length > 0;
    return foreign(
      `the folder there ${isRepository ? 'has a repository of its own' : 'is not a work tree of git'}`,
    );
  }
  const gitDir = await gitDirAt(path);
  if (!gitDir || !(await lstat(gitDir).catch(nullIfMissing)))
    return foreign('git no longer knows the folder there');
  if (commonDir !== null && dirname(await realpath(gitDir)) !== join(commonDir, 'worktrees'))
    return foreign('the folder there belongs to another repository');
  const back = await pointedTo(join(gitDir, 'gitdir'));
  // Null if git was interrupted before it wrote the file.
  if (back !== null && back !== join(path, '.git'))
    return foreign('the folder there belongs to another work tree');
  return { kind: await progressOf(gitDir), gitDir };
}

/**
 * A work tree that somebody created again by hand has none of Squad's marks and belongs to them. Git writes the index
 * last, so without an index git was interrupted. A new work tree names our private git folder until the hub has
 * repaired that.
 */
async function progressOf(gitDir: string): Promise<'ready' | 'unready' | 'interrupted'> {
  if (await isPlainFile(readyFile(gitDir))) return 'ready';
  if (await isPlainFile(makingFile(gitDir))) return 'unready';
  if (isPrivateGit(gitDir)) return 'interrupted';
  return (await lstat(join(gitDir, 'index')).catch(nullIfMissing)) ? 'ready' : 'interrupted';
}

/** The git folder of the work tree at this path, even if the work tree's folder is missing. */
export async function registeredGitDir(commonDir: string, path: string): Promise<string | null> {
  const folder = join(commonDir, 'worktrees');
  for (const name of await readdir(folder).catch(() => []))
    if ((await pointedTo(join(folder, name, 'gitdir'))) === join(path, '.git')) return join(folder, name);
  return null;
}

/** Null if the work tree is not locked. Git itself locks a work tree while creating it. */
export async function describeLock(gitDir: string, path: string): Promise<string | null> {
  const file = join(gitDir, 'locked');
  if (!(await lstat(file).catch(nullIfMissing))) return null;
  const reason = String((await readPlainFile(file)) ?? '').trim();
  if (reason === 'initializing') return null;
  const why = reason === '' ? '' : ` (${reason.slice(0, 100)})`;
  return `it is locked${why}: git worktree unlock ${path}, then try again`;
}

/** Reads the paths in the file `squad-copied`, one character per byte. */
export async function copiedPaths(gitDir: string): Promise<Set<string>> {
  const list = await readPlainFile(copiedFile(gitDir));
  return new Set(list ? splitPaths(list) : []);
}

/** Ignore rules that were saved with the work tree. Null if an earlier version or somebody else created it. */
export const keptIgnoreRules = async (gitDir: string): Promise<string | null> =>
  (await readPlainFile(ignoreRulesFile(gitDir)))?.toString('latin1') ?? null;

export const gitDirAt = (path: string): Promise<string | null> => pointedTo(join(path, '.git'), 'gitdir: ');

/** A path may contain line ends. Trailing line ends are not part of it. */
async function pointedTo(file: string, before = ''): Promise<string | null> {
  const text = String((await readPlainFile(file)) ?? '');
  const target = text.startsWith(before) ? text.slice(before.length).replace(/[\r\n]+$/, '') : '';
  return target ? resolve(dirname(file), target) : null;
}

const foreign = (why: string): Place => ({ kind: 'foreign', why });

export interface Repository {
  git: Git;
  /**
   * Git folder that all work trees of the repository share, with links resolved. Also used as the repository's key in
   * the queue.
   */
  commonDir: string;
}

/** Null if the repository is missing or was replaced. */
export async function repositoryOf(worktree: Worktree, env: Environment): Promise<Repository | null> {
  const found = await repositoryPaths(worktree);
  return found && { git: await openGit(found.root, env), commonDir: found.commonDir };
}

export async function repositoryPaths({
  repository,
  path,
}: Worktree): Promise<{ root: string; commonDir: string } | null> {
  // The user's own checkout may have been a linked one that is now gone. The work tree itself still leads to the
  // repository.
  for (const root of [repository, path]) {
    const folder = await findGitFolder(root);
    const commonDir = folder?.root === root ? await realpath(folder.commonDir).catch(() => null) : null;
    if (commonDir) return { root, commonDir };
  }
  return null;
}

/** Null outside any repository, and for a path that cannot exist. `ours` is the folder of Squad's own work trees. */
export async function checkoutAround(place: string, ours: string): Promise<Checkout | null> {
  const real = isAbsolute(place) ? await resolveExistingPart(place).catch(() => null) : null;
  const folder = real && (await findGitFolder(real));
  if (!folder) return null;
  const root = usersRoot(folder, await resolveExistingPart(ours));
  return { root, repository: await realpath(folder.commonDir).catch(() => folder.commonDir) };
}

/** The user's checkout of a repository. A work tree of Squad is not used, because it may be removed later. */
export function usersRoot({ root, commonDir }: GitFolder, ours: string): string {
  return isInside(ours, root) && commonDir.endsWith('/.git') ? dirname(commonDir) : root;
}

const TRASH = '.removing-';

/**
 * Renames a folder, so that nobody ever sees it half deleted. The next `deleteTrash` deletes it. Returns its new
 * path.
 */
export async function moveToTrash(path: string): Promise<string> {
  const trash = join(dirname(path), `${TRASH}${basename(path)}-${randomBytes(4).toString('hex')}`);
  await rename(path, trash);
  return trash;
}

/** Moves the folder back, under another name if its path is taken by now. Returns its path. */
export async function moveBack(trash: string, path: string): Promise<string> {
  try {
    await rename(trash, path);
    return path;
  } catch {
    const kept = `${path}-kept-${randomBytes(4).toString('hex')}`;
    await rename(trash, kept);
    return kept;
  }
}

export const isTrash = (name: string): boolean => name.startsWith(TRASH);

/** Deletes renamed folders. Files that cannot be deleted now stay for the next time. */
export async function deleteTrash(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter(isTrash);
  for (const name of names) await removeTree(join(folder, name)).catch(() => {});
}
