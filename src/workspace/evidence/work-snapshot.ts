import type { DirtyFile, WorkSnapshot } from '../../schema/work.ts';
import { eachOf, hashWorkFile, stampOf, statWorkFile } from '../files/file-stamp.ts';
import { type Git, GitTrouble } from '../git/git.ts';
import { headLogSize } from '../git/git-folder.ts';
import { readStatus, type StatusEntry } from '../git/git-status.ts';
import { readIgnoreRules } from '../git/ignore-rules.ts';
import { hiddenFiles } from '../worktrees/worktree-index.ts';

/** More are not kept: the snapshot is read and written with each run. */
const MOST_DIRTY = 50_000;
/** What may be read before a start: a few milliseconds' worth. */
const HASH_BUDGET = { files: 50, bytes: 1024 * 1024 };

/** Two git processes at once, then a look at each file that is not as HEAD has it or is hidden from git. */
export async function takeSnapshot(git: Git, signal?: AbortSignal): Promise<WorkSnapshot> {
  const takenAt = Date.now();
  const logSize = await headLogSize(git.folder);
  const [{ head, branch, entries: listed }, hidden, ignoreRules] = await Promise.all([
    readStatus(git, { signal }),
    hiddenFiles(git, signal),
    readIgnoreRules(git),
  ]);
  const known = new Set(listed.map(({ path }) => path));
  const unlisted = hidden.paths.filter(path => !known.has(path));
  const entries = [...listed, ...unlisted.map(path => ({ path, isUntracked: false }))];
  if (entries.length > MOST_DIRTY)
    throw new GitTrouble(
      `more than ${MOST_DIRTY} files had uncommitted changes before the run, or were hidden from git`,
    );
  const budget = { ...HASH_BUDGET };
  const { root } = git.folder;
  const dirty = await eachOf(entries, entry => look(root, entry, budget));
  if (signal?.aborted) throw new GitTrouble('git was no longer waited for');
  const { keptOut } = hidden;
  const readyAt = Date.now();
  return { root, head, branch, headLogSize: logSize, dirty, ignoreRules, keptOut, takenAt, readyAt };
}

async function look(
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
