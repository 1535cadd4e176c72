import {
  type BigIntStats,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Checkpoint } from '../../core/ports/integration.ts';
import { stampOf } from '../files/file-stamp.ts';
import { NO_LINKS } from '../files/hard-links.ts';
import { pathBytes, pathText } from '../files/paths.ts';
import type { TreeChange } from '../git/commits.ts';
import type { Git } from '../git/git.ts';
import { withScratchIndex } from '../git/git-index.ts';

/** Number of files after which the hub handles other requests. */
const FILES_PER_TURN = 32;
const MAX_COPIES = 100;

/**
 * Holds files while other files take their places. It is on the same disk as the work tree, so that a rename is
 * enough.
 */
export interface FileStash {
  folder: string;
  old: string;
  next: string;
}

interface Exchange {
  root: string;
  stash: FileStash;
  /** Files to remove, if they have not changed since they were found to match the old commit. */
  goes: ReadonlyMap<string, BigIntStats>;
  files: readonly TreeChange[];
  /** Paths of the files that get new content from the stash. */
  comes: ReadonlySet<string>;
}

/**
 * Moves old files out, moves new files in, and only then deletes the old ones. If somebody saves one of the files
 * meanwhile, that version stays. Returns notes for the user.
 */
export async function exchangeFiles(exchange: Exchange, checkpoint: Checkpoint): Promise<string[]> {
  const { root, stash, goes, files, comes } = exchange;
  const out = new Map<string, BigIntStats>();
  const put = new Map<string, BigIntStats>();
  const isOut = () => checkpoint('old file taken out');
  const takeOut = ({ path }: TreeChange): boolean => {
    const seen = goes.get(path);
    if (!seen || !removeIfUnchanged(root, path, { seen, into: stash.old, isOut })) return false;
    out.set(path, seen);
    return true;
  };

  const removed = files.filter(({ is }) => !is);
  await inTurns(removed, takeOut);
  for (const { path } of removed) if (out.has(path)) await removeEmptyFolders(root, path);
  checkpoint('old files removed');

  await inTurns(files, change => {
    const { path } = change;
    if (!comes.has(path) || (goes.has(path) && !takeOut(change))) return;
    if (!placeIfAbsent(root, path, pathBytes(stash.next, path))) return;
    const stats = lstatOrNull(pathBytes(root, path));
    if (stats) put.set(path, stats);
  });
  checkpoint('new files written');

  const notes: string[] = [];
  await inTurns([...out], ([path, seen]) => {
    const file = pathBytes(stash.old, path);
    if (isSameFile(lstatOrNull(file), seen)) return unlinkSync(file);
    // Somebody has saved the old file meanwhile, so Squad's new version is removed again.
    const ours = put.get(path);
    if (ours) removeIfUnchanged(root, path, { seen: ours, into: stash.next });
    if (!placeIfAbsent(root, path, file)) notes.push(saveConflictingCopy(root, path, file));
  });
  await rm(stash.folder, { recursive: true, force: true });
  return notes;
}

async function inTurns<T>(items: readonly T[], act: (item: T) => unknown): Promise<void> {
  for (const [at, item] of items.entries()) {
    if (at % FILES_PER_TURN === FILES_PER_TURN - 1) await nextTurn();
    act(item);
  }
}

/** Removes folders that became empty with the file, as git does. */
async function removeEmptyFolders(root: string, path: string): Promise<void> {
  const isRemoved = (folder: string) =>
    rmdir(pathBytes(root, folder)).then(
      () => true,
      () => false,
    );
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
    if (!(await isRemoved(folder))) return;
}

/** Creates the stash. The creator holds the lock on the index, so there is only one stash at a time. */
export async function createStash({ folder: { root, gitDir } }: Git): Promise<FileStash> {
  const [tree, inGit] = await Promise.all([stat(root), stat(gitDir)]);
  const [inGitFolder, inWorkTree] = stashes(root, gitDir);
  const stash = tree.dev === inGit.dev ? inGitFolder : inWorkTree;
  for (const folder of [stash.old, stash.next]) await mkdir(folder, { recursive: true });
  return stash;
}

/**
 * Recovers from a process that was killed during an exchange: moves its stashed files back, unless another file is
 * there and the old one matches the commit. Returns notes for the user.
 */
export async function restoreStash(git: Git, commit: string): Promise<string[]> {
  const { root, gitDir } = git.folder;
  const notes: string[] = [];
  for (const { folder, old } of stashes(root, gitDir)) {
    if (!existsSync(folder)) continue;
    const paths = existsSync(old) ? await filesIn(old) : [];
    const inCommit = await filesAsIn(git, commit, old);
    for (const path of paths) {
      const file = pathBytes(old, path);
      if (!placeIfAbsent(root, path, file) && !inCommit.has(path))
        notes.push(saveConflictingCopy(root, path, file));
    }
    await rm(folder, { recursive: true, force: true });
  }
  return notes;
}

function stashes(root: string, gitDir: string): [FileStash, FileStash] {
  const at = (folder: string) => ({ folder, old: join(folder, 'old'), next: join(folder, 'new') });
  return [at(join(gitDir, 'squad-aside')), at(join(root, '.squad-aside'))];
}

/** Returns the files below a folder that are the same as in the commit. */
const filesAsIn = (git: Git, commit: string, folder: string): Promise<Set<string>> =>
  withScratchIndex(git, async index => {
    await index.run(['read-tree', commit]);
    const changed = await index.changedPaths({ folder });
    return new Set([...(await index.paths())].filter(path => !changed.has(path)));
  });

async function filesIn(folder: string, under = ''): Promise<string[]> {
  const entries = await readdir(pathBytes(folder, under), { encoding: 'latin1', withFileTypes: true });
  const found = entries.map(entry => {
    const path = under === '' ? entry.name : `${under}/${entry.name}`;
    return entry.isDirectory() ? filesIn(folder, path) : [path];
  });
  return (await Promise.all(found)).flat();
}

// The functions below are synchronous, so that nothing happens between a check and its action: others may save to
// these files at any time.

const lstatOrNull = (file: Buffer): BigIntStats | null => {
  try {
    return lstatSync(file, { bigint: true });
  } catch {
    return null;
  }
};

/** Whether nothing has changed a file. Its change time is not compared, because a rename by Squad changes it. */
const isSameFile = (one: BigIntStats | null, other: BigIntStats): boolean =>
  one !== null &&
  one.ino === other.ino &&
  one.size === other.size &&
  one.mtimeNs === other.mtimeNs &&
  one.mode === other.mode;

/**
 * Moves a file to the same path in another folder if it has not changed since it was seen. Returns true when the file
 * was moved. A file that is saved at the last moment is moved back. If another file has taken its place by then, the
 * first stays in the other folder.
 */
function removeIfUnchanged(
  root: string,
  path: string,
  { seen, into, isOut = () => {} }: { seen: BigIntStats; into: string; isOut?: () => void },
): boolean {
  const [file, out] = [pathBytes(root, path), pathBytes(into, path)];
  try {
    if (!hasFolders(root, path) || !hasFolders(into, path, 'make')) return false;
    const now = lstatOrNull(file);
    if (!now || stampOf(now) !== stampOf(seen)) return false;
    renameSync(file, out);
  } catch {
    return false;
  }
  isOut();
  return isSameFile(lstatOrNull(out), seen) || !placeIfAbsent(root, path, out);
}

/**
 * Moves a file to a free path, never over another file. Returns false when the path is taken, or the file cannot be
 * moved there.
 */
function placeIfAbsent(root: string, path: string, file: Buffer): boolean {
  const target = pathBytes(root, path);
  try {
    if (!hasFolders(root, path, 'make')) return false;
    if (lstatSync(file).isSymbolicLink()) symlinkSync(readlinkSync(file, { encoding: 'buffer' }), target);
    else linkSync(file, target);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    // Folders cannot have hard links, so a folder is renamed instead.
    return NO_LINKS.has(code) && !lstatOrNull(target) && succeeds(() => renameSync(file, target));
  }
  succeeds(() => unlinkSync(file));
  return true;
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

/** Whether the folders of a path are real folders, not links. With `make`, missing folders are created. */
function hasFolders(root: string, path: string, make?: 'make'): boolean {
  const folder = dirname(path);
  if (folder === '.') return true;
  if (!hasFolders(root, folder, make)) return false;
  const found = lstatOrNull(pathBytes(root, folder));
  if (found || !make) return found?.isDirectory() ?? false;
  mkdirSync(pathBytes(root, folder));
  return true;
}

/** Saves a second version of a file under a new name, if somebody saved the file at the same moment. */
function saveConflictingCopy(root: string, path: string, file: Buffer): string {
  for (let at = 1; at <= MAX_COPIES; at++) {
    const copy = `${path}.kept-${at}`;
    if (placeIfAbsent(root, copy, file))
      return `${pathText(path)} was saved by another program during the merge; that version is kept as ${pathText(copy)}`;
  }
  throw new Error(`${pathText(path)} was saved by another program during the merge and cannot be restored`);
}
