import { lstat, readdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Checkout } from '../../core/ports/worktrees.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { isInside, resolveExistingPart } from '../files/paths.ts';
import { isPlainFile, readPlainFile } from '../files/text-file.ts';
import { type Git, openGit } from '../git/git.ts';
import { findGitFolder, type GitFolder } from '../git/git-folder.ts';
import { COMMITTER } from './branch-commit.ts';

/** What is where a work tree belongs. */
export type Place =
  | { kind: 'missing' }
  /** A folder with nothing in it: git was cut off in the middle. */
  | { kind: 'empty' }
  /** `half`: its set-up was cut off, so no agent has been in it. `torn`: git was, before it had checked out all files. */
  | { kind: 'whole' | 'half' | 'torn'; gitDir: string }
  | { kind: 'foreign'; why: string };

/** Written when git has made it, gone when it is ready: in between there is nothing in it but what the set-up puts there. */
export const makingFile = (gitDir: string): string => join(gitDir, 'squad-making');
/** Written last, in the work tree's own git folder: from then on an agent may be at work in it. */
export const readyFile = (gitDir: string): string => join(gitDir, 'squad-ready');
/** Written when its set-up is done: a work tree may be made first, and set up when its agent is about to start. */
export const setUpFile = (gitDir: string): string => join(gitDir, 'squad-set-up');
/** Paths from the root, NUL between them: what the set-up put there and git does not ignore. No work of the agent's. */
export const copiedFile = (gitDir: string): string => join(gitDir, 'squad-copied');

/** Ignore rules that are in no file of the work tree, as they were when it was made. Files hidden by later ones are work. */
export const ignoreRulesFile = (gitDir: string): string => join(gitDir, 'squad-ignore-rules');

/** What its file `.git` says is the agent's to write: it counts only where it leads to the repository we know. */
export async function lookAt(path: string, commonDir: string | null): Promise<Place> {
  const found = await lstat(path).catch(orNull);
  if (!found) return { kind: 'missing' };
  if (!found.isDirectory()) return foreign('something that is not a folder is there');
  const link = await lstat(join(path, '.git')).catch(orNull);
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
  if (!gitDir || !(await lstat(gitDir).catch(orNull)))
    return foreign('git knows nothing of the folder there any more');
  if (commonDir !== null && dirname(await realpath(gitDir)) !== join(commonDir, 'worktrees'))
    return foreign('the folder there belongs to another repository');
  const back = await pointedTo(join(gitDir, 'gitdir'));
  // Not there yet: git was cut off before it came to that.
  if (back !== null && back !== join(path, '.git'))
    return foreign('the folder there belongs to another work tree');
  return { kind: await howWhole(gitDir), gitDir };
}

/** Somebody may have made it anew by hand, without our marks: it is theirs then. Git writes the index last. */
async function howWhole(gitDir: string): Promise<'whole' | 'half' | 'torn'> {
  if (await isPlainFile(readyFile(gitDir))) return 'whole';
  if (await isPlainFile(makingFile(gitDir))) return 'half';
  return (await lstat(join(gitDir, 'index')).catch(orNull)) ? 'whole' : 'torn';
}

/** Where git keeps what it knows of the work tree at this path, there or not. */
export async function registered(commonDir: string, path: string): Promise<string | null> {
  const folder = join(commonDir, 'worktrees');
  for (const name of await readdir(folder).catch(() => []))
    if ((await pointedTo(join(folder, name, 'gitdir'))) === join(path, '.git')) return join(folder, name);
  return null;
}

/** Why its owner wants it left alone; null: it is not locked. Git itself locks one that it is just making. */
export async function describeLock(gitDir: string, path: string): Promise<string | null> {
  const file = join(gitDir, 'locked');
  if (!(await lstat(file).catch(orNull))) return null;
  const reason = String((await readPlainFile(file)) ?? '').trim();
  if (reason === 'initializing') return null;
  const why = reason === '' ? '' : ` (${reason.slice(0, 100)})`;
  return `it is locked${why}: git worktree unlock ${path}, then try again`;
}

/** Paths of `squad-copied`, one character for each byte. */
export async function copiedPaths(gitDir: string): Promise<Set<string>> {
  const text = (await readPlainFile(copiedFile(gitDir)))?.toString('latin1') ?? '';
  return new Set(text.split('\0').filter(path => path !== ''));
}

/** Null: not known, because an earlier version made the work tree, or somebody else did. */
export const keptIgnoreRules = async (gitDir: string): Promise<string | null> =>
  (await readPlainFile(ignoreRulesFile(gitDir)))?.toString('latin1') ?? null;

/** What the file `.git` of a work tree leads to. */
export const gitDirAt = (path: string): Promise<string | null> => pointedTo(join(path, '.git'), 'gitdir: ');

/** A path may have line ends in it; the last one is not part of it. */
async function pointedTo(file: string, before = ''): Promise<string | null> {
  const text = String((await readPlainFile(file)) ?? '');
  const target = text.startsWith(before) ? text.slice(before.length).replace(/[\r\n]+$/, '') : '';
  return target ? resolve(dirname(file), target) : null;
}

const foreign = (why: string): Place => ({ kind: 'foreign', why });

/** Only "it is not there" is an answer; anything else must not look like it. */
function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}

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
  const way = await repositoryPaths(worktree);
  return way && { git: await openGit(way.root, env), commonDir: way.commonDir };
}

/** From where it is reached, and what all its work trees share. */
export async function repositoryPaths({
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
  const real = isAbsolute(place) ? await resolveExistingPart(place).catch(() => null) : null;
  const folder = real && (await findGitFolder(real));
  if (!folder) return null;
  const root = usersRoot(folder, await resolveExistingPart(ours));
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
