import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { FolderChanges, WorkPlace } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import type { DirtyFile, WorkChanges, WorkSnapshot } from '../../schema/evidence.ts';
import { eachOf, hashWorkFile, isBinary, readWorkFile, stampOf, statWorkFile } from '../files/file-stamp.ts';
import { pathText } from '../files/paths.ts';
import { readInside } from '../files/text-file.ts';
import { type Git, GitError, openGit } from '../git/git.ts';
import { findGitFolder, headLogSize } from '../git/git-folder.ts';
import { ownIndex } from '../git/git-index.ts';
import { readIgnoreRules, readStatus, type StatusEntry } from '../git/git-status.ts';
import { withoutReview } from '../review/feedback-commits.ts';
import {
  branchNotes,
  type Compared,
  commitsMade,
  type Difference,
  uncountedNotes,
  withComparison,
} from './compare.ts';
import { branchChanges, branchDiff, fileVersion, writeDiff } from './diff.ts';

/** Limits for counting lines of new files: the size of one file, and the total size of the files that are read. */
const MAX_COUNTED_BYTES = 1024 * 1024;
const MAX_COUNTED = 64 * MAX_COUNTED_BYTES;
/** Maximum size of a file with comments on its lines. */
const MAX_COMMENTED_BYTES = 64 * MAX_COUNTED_BYTES;

/** Finds changes since the snapshot in the whole repository. */
async function findChanges(
  git: Git,
  directory: string,
  before: WorkSnapshot,
  { workspace, branch }: WorkPlace,
): Promise<WorkChanges> {
  const notes: string[] = [];
  const known = async <T>(part: Promise<T>): Promise<T | null> => {
    try {
      return await part;
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      if (!notes.includes(error.message)) notes.push(error.message);
      return null;
    }
  };

  const compared = await known(withComparison(git, before, workspace, async found => found));
  if (!compared) return { files: null, commits: null, lines: null, notes };
  const made = await known(commitsMade(git, before, compared.status, branch));
  const commits = made && { count: made.count, newest: made.newest };
  const own = made?.hasFeedback ? withoutReview(compared.files) : compared.files;
  if (made) notes.push(...uncountedNotes(made, branch));
  const { branch: current } = compared.status;
  const isElsewhere = branch !== undefined && current !== branch;
  if (isElsewhere)
    notes.push(`the work tree is on ${current ?? 'a detached HEAD'}, not on the run's branch ${branch}`);
  notes.push(...compared.notes);
  notes.push(...((await known(branchNotes(git, before, compared.status))) ?? []));
  const lines = await countLines(git.folder.root, { ...compared, files: own }, notes);
  const files = own
    .map(each => ({
      path: pathText(each.path),
      status: each.status,
      isOutside: isOutside(git.folder.root, directory, each.path),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, commits, lines, notes, ...(isElsewhere && { isElsewhere }) };
}

function isOutside(root: string, directory: string, path: string): boolean {
  const below = Buffer.from(relative(root, directory)).toString('latin1');
  return below !== '' && !path.startsWith(`${below}/`);
}

async function countLines(
  root: string,
  { files, uncounted }: Compared,
  notes: string[],
): Promise<WorkChanges['lines']> {
  if (uncounted) {
    notes.push(`lines could not be counted (${uncounted})`);
    return null;
  }
  const wereDirty = files.filter(({ wasDirty }) => wasDirty).length;
  if (wereDirty > 0)
    notes.push(
      `${wereDirty} of the files had uncommitted changes before the run: their lines are not counted`,
    );
  const budget = { bytes: MAX_COUNTED };
  const counted = await eachOf(files, async file => file.lines ?? (await linesOfNew(root, file, budget)));
  const tooLarge = counted.filter(each => each === 'too large').length;
  if (tooLarge > 0)
    notes.push(
      `${tooLarge} of the new files could not be read to count their lines: too large, or too many in all`,
    );
  // A partial sum would look like the whole, so the sum is null if a part is unknown.
  if (wereDirty > 0 || tooLarge > 0) return null;
  const lines = counted.filter(each => each !== null && each !== 'too large');
  const insertions = lines.reduce((sum, each) => sum + each.insertions, 0);
  const deletions = lines.reduce((sum, each) => sum + each.deletions, 0);
  // Zero counted lines does not mean that nothing changed.
  return insertions + deletions === 0 && lines.length < counted.length ? null : { insertions, deletions };
}

/** Number of lines of a new file. Null for files without lines, such as binary files. */
async function linesOfNew(
  root: string,
  { path, isUntracked, wasDirty }: Difference,
  budget: { bytes: number },
): Promise<Difference['lines'] | 'too large'> {
  if (!isUntracked || wasDirty) return null;
  const content = budget.bytes > 0 ? await readWorkFile(root, path, MAX_COUNTED_BYTES) : null;
  budget.bytes -= content?.length ?? 0;
  // A folder here is a nested repository, whose lines do not count.
  if (!content) return (await statWorkFile(root, path))?.isDirectory() ? null : 'too large';
  if (isBinary(content)) return null;
  let insertions = content.length > 0 && content.at(-1) !== 10 ? 1 : 0;
  for (let at = content.indexOf(10); at >= 0; at = content.indexOf(10, at + 1)) insertions++;
  return { insertions, deletions: 0 };
}

/** Limit of files in a snapshot, because the snapshot is read and written with each run. */
const MAX_DIRTY = 50_000;
/** Limits for hashing files before an agent starts. Reading this much takes a few milliseconds. */
const HASH_BUDGET = { files: 50, bytes: 1024 * 1024 };

/**
 * Takes a snapshot with one git process, or two in parallel for an index that was not seen before. Then it reads the
 * status of each file that differs from HEAD or is hidden from git.
 */
async function takeSnapshot(git: Git, signal?: AbortSignal): Promise<WorkSnapshot> {
  const takenAt = Date.now();
  const [logSize, { head, branch, entries: listed }, hidden, ignoreRules] = await Promise.all([
    headLogSize(git.folder),
    readStatus(git, { signal }),
    ownIndex(git).hiddenFiles(undefined, signal),
    readIgnoreRules(git),
  ]);
  const known = new Set(listed.map(({ path }) => path));
  const unlisted = [...new Set([...hidden.assumed, ...hidden.skipped])].filter(path => !known.has(path));
  const entries = [...listed, ...unlisted.map(path => ({ path, isUntracked: false }))];
  if (entries.length > MAX_DIRTY)
    throw new GitError(
      `more than ${MAX_DIRTY} files had uncommitted changes before the run, or were hidden from git`,
    );
  const budget = { ...HASH_BUDGET };
  const { root } = git.folder;
  const dirty = await eachOf(entries, entry => snapshotFile(root, entry, budget));
  if (signal?.aborted) throw new GitError('git was cancelled');
  const keptOut = hidden.absent.size;
  const readyAt = Date.now();
  return { root, head, branch, headLogSize: logSize, dirty, ignoreRules, keptOut, takenAt, readyAt };
}

async function snapshotFile(
  root: string,
  { path, isUntracked }: StatusEntry,
  budget: typeof HASH_BUDGET,
): Promise<DirtyFile> {
  const stat = await statWorkFile(root, path);
  if (!stat) return { path, isUntracked, stamp: null, hash: null };
  const stamp = stampOf(stat);
  const size = Number(stat.size);
  if (budget.files < 1 || budget.bytes < size) return { path, isUntracked, stamp, hash: null };
  budget.files -= 1;
  budget.bytes -= size;
  return { path, isUntracked, stamp, hash: await hashWorkFile(root, path, stat) };
}

export function createWorkTree(env: Record<string, string | undefined> = process.env): FolderChanges {
  return {
    async snapshot(directory, signal) {
      try {
        return { snapshot: await takeSnapshot(await openGit(directory, env), signal), why: null };
      } catch (error) {
        return { snapshot: null, why: describeError(error, directory) };
      }
    },

    async changes(directory, before, place = {}) {
      try {
        return await findChanges(await openGit(directory, env), directory, before, place);
      } catch (error) {
        return { files: null, commits: null, lines: null, notes: [describeError(error, directory)] };
      }
    },

    async lineCount(directory, path) {
      // Tries both bases: a diff names files relative to the root of the repository, an agent relative to its folder.
      const root = (await findGitFolder(directory))?.root;
      for (const base of new Set([directory, root ?? directory])) {
        const text = await readInside(base, path, MAX_COMMENTED_BYTES).catch(() => null);
        if (text !== null) return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
      }
      return null;
    },

    async diff(directory, before, options) {
      return available(directory, async () => writeDiff(await openGit(directory, env), before, options));
    },

    commitChanges: (repository, from, to) =>
      available(repository, async () => branchChanges(await openGit(repository, env), from, to)),

    commitDiff: (repository, from, to, size) =>
      available(repository, async () => branchDiff(await openGit(repository, env), from, to, size)),

    fileVersion: (directory, path, commit, maxBytes) =>
      available(directory, async () => fileVersion(await openGit(directory, env), path, commit, maxBytes)),
  };
}

async function available<T>(place: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new SquadError('DIFF_UNAVAILABLE', `No diff of ${place}: ${describeError(error, place)}.`, {
      suggestions: ['`squad show RUN` shows the changes that were found when the run ended.'],
      cause: error,
    });
  }
}

/** An error while gathering evidence never stops a run from starting or ending. It becomes a note instead. */
function describeError(error: unknown, folder: string): string {
  if (!existsSync(folder)) return 'the folder is gone';
  if (error instanceof GitError || error instanceof SquadError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return `the folder could not be read (${code ?? message})`;
}
