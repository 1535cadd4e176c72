import { randomBytes } from 'node:crypto';
import { chmod, lstat, readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { nullIfMissing } from '../../base/missing-file.ts';
import type { Checkout } from '../../core/ports/worktrees.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { isInside, resolveExistingPart, splitPaths } from '../files/paths.ts';
import { isPlainFile, readPlainFile } from '../files/text-file.ts';
import { type Environment, type Git, openGit } from '../git/git.ts';
import { findGitFolder, type GitFolder } from '../git/git-folder.ts';

/** State of the path of a work tree. */
export type Place =
  | { kind: 'missing' }
  /** An empty folder: git was interrupted. */
  | { kind: 'empty' }
  /**
   * `unready`: its set-up was interrupted, so no agent has been in it. `interrupted`: git was, before it had checked out all
   * files.
   */
  | { kind: 'ready' | 'unready' | 'interrupted'; gitDir: string }
  | { kind: 'foreign'; why: string };

/** Exists from when git has made the work tree until it is ready: until then it holds nothing but files of the set-up. */
export const makingFile = (gitDir: string): string => join(gitDir, 'squad-making');
/** Written last, in the work tree's own git folder: from then on an agent may be running in it. */
export const readyFile = (gitDir: string): string => join(gitDir, 'squad-ready');
/** Written after the set-up: a work tree may be made first, and set up when its agent is about to start. */
export const setUpFile = (gitDir: string): string => join(gitDir, 'squad-set-up');
/** NUL-separated paths of files that came from the set-up and that git does not ignore: they are not the agent's work. */
export const copiedFile = (gitDir: string): string => join(gitDir, 'squad-copied');

/** Ignore rules from outside the work tree, as they were when it was made. Files that later rules hide are work. */
export const ignoreRulesFile = (gitDir: string): string => join(gitDir, 'squad-ignore-rules');

/** An agent can write the file `.git` in its folder: it counts only if it leads to the repository we know. */
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
  // Null: git was interrupted before it wrote that file.
  if (back !== null && back !== join(path, '.git'))
    return foreign('the folder there belongs to another work tree');
  return { kind: await progressOf(gitDir), gitDir };
}

/** A work tree that somebody made again by hand has none of our marks, and is theirs. Git writes the index last. */
async function progressOf(gitDir: string): Promise<'ready' | 'unready' | 'interrupted'> {
  if (await isPlainFile(readyFile(gitDir))) return 'ready';
  if (await isPlainFile(makingFile(gitDir))) return 'unready';
  return (await lstat(join(gitDir, 'index')).catch(nullIfMissing)) ? 'ready' : 'interrupted';
}

/** The git folder of the work tree at this path, even if its folder is gone. */
export async function registeredGitDir(commonDir: string, path: string): Promise<string | null> {
  const folder = join(commonDir, 'worktrees');
  for (const name of await readdir(folder).catch(() => []))
    if ((await pointedTo(join(folder, name, 'gitdir'))) === join(path, '.git')) return join(folder, name);
  return null;
}

/** Null: it is not locked. Git itself locks a work tree while it makes it. */
export async function describeLock(gitDir: string, path: string): Promise<string | null> {
  const file = join(gitDir, 'locked');
  if (!(await lstat(file).catch(nullIfMissing))) return null;
  const reason = String((await readPlainFile(file)) ?? '').trim();
  if (reason === 'initializing') return null;
  const why = reason === '' ? '' : ` (${reason.slice(0, 100)})`;
  return `it is locked${why}: git worktree unlock ${path}, then try again`;
}

/** Paths in `squad-copied`, one character per byte. */
export async function copiedPaths(gitDir: string): Promise<Set<string>> {
  const list = await readPlainFile(copiedFile(gitDir));
  return new Set(list ? splitPaths(list) : []);
}

/** Null: unknown, because an earlier version or somebody else made the work tree. */
export const keptIgnoreRules = async (gitDir: string): Promise<string | null> =>
  (await readPlainFile(ignoreRulesFile(gitDir)))?.toString('latin1') ?? null;

export const gitDirAt = (path: string): Promise<string | null> => pointedTo(join(path, '.git'), 'gitdir: ');

/** A path may contain line ends; trailing ones are not part of it. */
async function pointedTo(file: string, before = ''): Promise<string | null> {
  const text = String((await readPlainFile(file)) ?? '');
  const target = text.startsWith(before) ? text.slice(before.length).replace(/[\r\n]+$/, '') : '';
  return target ? resolve(dirname(file), target) : null;
}

const foreign = (why: string): Place => ({ kind: 'foreign', why });

export interface Repository {
  git: Git;
  /** The git folder that all its work trees share, links resolved. The queue knows the repository by it. */
  commonDir: string;
}

/** Null: the repository is gone, or is another one now. */
export async function repositoryOf(worktree: Worktree, env: Environment): Promise<Repository | null> {
  const found = await repositoryPaths(worktree);
  return found && { git: await openGit(found.root, env), commonDir: found.commonDir };
}

export async function repositoryPaths({
  repository,
  path,
}: Worktree): Promise<{ root: string; commonDir: string } | null> {
  // The user's own checkout may have been a linked one that is gone; the work tree itself still leads to the repository.
  for (const root of [repository, path]) {
    const folder = await findGitFolder(root);
    const commonDir = folder?.root === root ? await realpath(folder.commonDir).catch(() => null) : null;
    if (commonDir) return { root, commonDir };
  }
  return null;
}

/** Null outside any repository, and for a path that cannot exist; `ours` is the folder of Squad's own work trees. */
export async function checkoutAround(place: string, ours: string): Promise<Checkout | null> {
  const real = isAbsolute(place) ? await resolveExistingPart(place).catch(() => null) : null;
  const folder = real && (await findGitFolder(real));
  if (!folder) return null;
  const root = usersRoot(folder, await resolveExistingPart(ours));
  return { root, repository: await realpath(folder.commonDir).catch(() => folder.commonDir) };
}

/** A work tree of Squad's may be gone tomorrow: its repository stays. */
export function usersRoot({ root, commonDir }: GitFolder, ours: string): string {
  return isInside(ours, root) && commonDir.endsWith('/.git') ? dirname(commonDir) : root;
}

const TRASH = '.removing-';

/** Renames a folder, so that nobody ever sees half of it; the next `deleteTrash` deletes it. Returns its new path. */
export async function moveToTrash(path: string): Promise<string> {
  const trash = join(dirname(path), `${TRASH}${basename(path)}-${randomBytes(4).toString('hex')}`);
  await rename(path, trash);
  return trash;
}

/** Puts it back, under another name if its path is taken by now. Returns its path. */
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

/** Files that cannot be deleted now stay for the next time. */
export async function deleteTrash(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter(isTrash);
  for (const name of names) await deleteTree(join(folder, name)).catch(() => {});
}

/** Links are removed, never followed. */
async function deleteTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // Some tools make read-only folders, and nothing can be deleted in those.
    await makeWritable(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
}
