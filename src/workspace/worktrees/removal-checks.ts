import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Worktree } from '../../schema/worktree.ts';
import { eachOf } from '../files/file-stamp.ts';
import { isInside, pathBytes, pathText, splitPaths } from '../files/paths.ts';
import { readPlainFile } from '../files/text-file.ts';
import { type Environment, type Git, GitError, ignoreExitOne, openGit } from '../git/git.ts';
import { withHonestIndex } from '../git/git-index.ts';
import { hiddenIgnoreFiles, readStatus } from '../git/git-status.ts';
import {
  describeNested,
  describeOperation,
  readyTime,
  type Saved,
  type SaveOptions,
  saveWork,
} from './save-work.ts';
import { moveBack, moveToTrash, type Place } from './worktree-place.ts';

export interface Nested {
  /** Paths of folders with their own repository, whose commits may exist nowhere else. */
  repositories: string[];
  /** Paths of submodules whose repository is in the work tree's git folder. */
  submodules: string[];
}

const MAX_ENTRIES = 5_000_000;
const READ_BY_GIT = new Set(['.gitattributes', '.gitignore', '.gitmodules']);

/** Searches ignored folders too. Follows no links, and throws if something cannot be read. */
export async function findNested(root: string, gitDir: string): Promise<Nested> {
  const nested: Nested = { repositories: [], submodules: [] };
  let count = 0;
  let folders = [''];
  while (folders.length > 0) {
    const below = await eachOf(folders, async folder => {
      const entries = await entriesOf(root, folder);
      count += entries.length;
      if (count > MAX_ENTRIES) throw new GitError('it has too many files to search');
      const pipe = entries.find(entry => READ_BY_GIT.has(entry.name) && entry.isFIFO());
      if (pipe) throw new GitError(`its ${pipe.name} is a pipe, which git would wait for forever`);
      const names = new Set(entries.map(({ name }) => name));
      const git = entries.find(({ name }) => name === '.git');
      const hasGit = git !== undefined && !(await isEmptyFolder(root, folder, git));
      if (folder !== '' && (hasGit || isBare(names))) {
        const isOurs = hasGit && (await isIn(join(gitDir, 'modules'), pathBytes(root, folder)));
        nested[isOurs ? 'submodules' : 'repositories'].push(folder);
        if (!isOurs) return [];
      }
      return entries.flatMap(entry =>
        entry.isDirectory() ? [folder === '' ? entry.name : `${folder}/${entry.name}`] : [],
      );
    });
    folders = below.flat();
  }
  return nested;
}

const entriesOf = (root: string, folder: string): Promise<Dirent[]> =>
  readdir(pathBytes(root, folder), { withFileTypes: true, encoding: 'latin1' }).catch(error => {
    if (error.code === 'ENOENT') return [];
    throw new GitError(`its folder ${pathText(folder)} cannot be read (${error.code})`);
  });

/** Codex's sandbox leaves empty `.git` folders in folders that its agents may write to. They are no repositories. */
const isEmptyFolder = async (root: string, folder: string, entry: Dirent): Promise<boolean> =>
  entry.isDirectory() && (await entriesOf(root, `${folder}/${entry.name}`)).length === 0;

const isBare = (names: Set<string>): boolean => ['HEAD', 'objects', 'refs'].every(name => names.has(name));

async function isIn(modules: string, folder: Buffer): Promise<boolean> {
  const file = join(String(folder), '.git');
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(String((await readPlainFile(file)) ?? ''))?.[1];
  return target !== undefined && isInside(modules, resolve(dirname(file), target));
}

/**
 * Finds files at the path of a submodule. Git does not report them, whether the submodule is checked out or not. Null
 * if there are none.
 */
export async function findSubmoduleContent(
  root: string,
  links: readonly string[],
  nested: Nested,
): Promise<string | null> {
  const known = new Set(nested.submodules);
  for (const link of links) {
    if (known.has(link)) continue;
    const found = await lstat(pathBytes(root, link)).catch(() => null);
    if (!found?.isDirectory()) continue;
    if ((await readdir(pathBytes(root, link))).length > 0)
      return `it has files where the submodule ${pathText(link)} belongs, which git does not check: move them elsewhere, then try again`;
  }
  return null;
}

/**
 * Describes what a removal would lose in submodules. The repository of a checked-out submodule is in the work tree's
 * git folder and is deleted with it. Null if everything is on the submodule's remotes. `found` contains the paths of
 * checked-out submodules, one character per byte.
 */
async function submoduleWork(
  { path, gitDir, found }: { path: string; gitDir: string; found: readonly string[] },
  env: Environment,
): Promise<string | null> {
  const kept = await repositoriesIn(join(gitDir, 'modules'));
  const roots = found.map(root => Buffer.from(root, 'latin1').toString());
  if (roots.length !== kept) return 'it has submodules of its own that cannot be read';
  for (const root of roots) {
    const git = await openGit(join(path, root), env);
    const isElsewhere = git.folder.root !== join(path, root);
    if (isElsewhere || (await repositoriesIn(join(git.folder.gitDir, 'modules'))) > 0)
      return `its submodule ${root} has submodules of its own`;
    const { entries } = await withHonestIndex(git, ({ file }) =>
      readStatus(git, { env: { GIT_INDEX_FILE: file } }),
    );
    if (entries.length > 0) return `its submodule ${root} has changes that are not committed`;
    const own = await git.run(['rev-list', '-n', '1', '--all', '--reflog', 'HEAD', '--not', '--remotes']);
    if (own.length > 0) return `its submodule ${root} has commits that are on none of its remotes`;
  }
  return null;
}

/** Counts repositories at any depth, because a submodule's name may contain slashes. */
async function repositoriesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  if (entries.some(({ name }) => name === 'HEAD')) return 1;
  const folders = entries.filter(entry => entry.isDirectory());
  const counts = await Promise.all(folders.map(({ name }) => repositoriesIn(join(folder, name))));
  return counts.reduce((sum, count) => sum + count, 0);
}

const SUBMODULE_TIMEOUT_MS = 300_000;

/** Whether a work tree in which git was interrupted contains only files of its commit. */
async function isBareCheckout(
  { path, base }: { path: string; base: string },
  gitDir: string,
  env: Environment,
): Promise<boolean> {
  // Git may have been interrupted so early that it cannot read the work tree itself.
  if ((await readdir(path)).every(name => name === '.git')) return true;
  const { repositories, submodules } = await findNested(path, gitDir);
  if (repositories.length + submodules.length > 0) return false;
  return isAsCommitted(await openGit(path, env), base);
}

const isAsCommitted = (git: Git, base: string): Promise<boolean> =>
  withHonestIndex(
    git,
    async index => {
      const names = async (...args: string[]) =>
        splitPaths(await index.run(args, undefined, SUBMODULE_TIMEOUT_MS));
      await index
        .run(['update-index', '-q', '--refresh'], undefined, SUBMODULE_TIMEOUT_MS)
        .catch(ignoreExitOne);
      // Files that are not checked out yet do not count.
      const changed = await names(
        'diff-files',
        '--name-only',
        '-z',
        '--ignore-submodules=all',
        '--diff-filter=d',
      );
      const added = await names('ls-files', '--others', '--exclude-standard', '-z');
      return changed.length + added.length === 0;
    },
    base,
  );

/** The reason why a work tree is kept. */
export class Kept extends Error {}

/** Attempts to save work that changes meanwhile. Removal does not wait for a process that keeps writing. */
const MAX_SAVES = 3;

/**
 * Saves everything that would be lost with the folder. Throws the reason if the folder must be kept. Null if no agent
 * has used it.
 */
export async function saveBefore(
  worktree: Worktree,
  { kind, gitDir }: Extract<Place, { gitDir: string }>,
  env: Environment,
  how: SaveOptions,
): Promise<Saved | null> {
  if (kind === 'unready') return null;
  if (kind === 'interrupted' && (await isBareCheckout(worktree, gitDir, env))) return null;
  const { path } = worktree;
  const nested = await findNested(path, gitDir);
  const [first] = nested.repositories;
  if (first !== undefined) throw new Kept(describeNested(first));
  const lost = await submoduleWork({ path, gitDir, found: nested.submodules }, env);
  if (lost) throw new Kept(lost);
  const git = await openGit(path, env);
  const operation = describeOperation(git);
  if (operation) throw new Kept(operation);
  const unseen = await withHonestIndex(git, (_, { links }) => findSubmoduleContent(path, links, nested));
  if (unseen) throw new Kept(unseen);
  const [hiding] = await hiddenIgnoreFiles(git, await readyTime(gitDir));
  if (hiding !== undefined)
    throw new Kept(
      `its new file ${hiding} ignores itself and may hide work from git: check, remove that file, then try again`,
    );
  return saveWork(git, worktree, how);
}

/**
 * Renames the folder, so that nobody finds it by its path, and saves what was written until then. If that cannot be
 * saved, the folder is moved back.
 */
export async function moveAway(
  worktree: Worktree,
  saved: Saved | null,
  env: Environment,
  how: SaveOptions,
): Promise<string | null> {
  const { path } = worktree;
  const trash = await moveToTrash(path);
  if (!saved) return null;
  try {
    return (await saveUntilUnchanged(worktree, saved, await openGit(trash, env), how)).ref;
  } catch (error) {
    const place = await moveBack(trash, path);
    const { message } = error as Error;
    if (place !== path) throw new Kept(`${message}; it is at ${place} now`);
    throw error;
  }
}

async function saveUntilUnchanged(
  worktree: Worktree,
  saved: Saved,
  git: Git,
  how: SaveOptions,
): Promise<Saved> {
  let last = saved;
  for (let tried = 0; tried < MAX_SAVES; tried++) {
    const now = await saveWork(git, worktree, how, last);
    if (now === last) return now;
    last = now;
  }
  throw new GitError('something keeps writing into it');
}
