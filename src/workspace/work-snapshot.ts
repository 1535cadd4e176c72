import type { DirtyFile, WorkSnapshot } from '../schema/work.ts';
import { type Git, GitTrouble } from './git.ts';
import { headLogSize } from './git-folder.ts';
import { readStatus, type StatusEntry } from './git-status.ts';
import { eachOf, hashWorkFile, stampOf, statWorkFile } from './work-file.ts';

/** More are not kept: the snapshot is read and written with each run. */
const MOST_DIRTY = 50_000;
/** What may be read before a start: a few milliseconds' worth. */
const HASH_BUDGET = { files: 50, bytes: 1024 * 1024 };

/** One git process, then a look at each file that is not as HEAD has it. */
export async function takeSnapshot(git: Git, signal?: AbortSignal): Promise<WorkSnapshot> {
  const takenAt = Date.now();
  const logSize = await headLogSize(git.folder);
  const { head, branch, entries } = await readStatus(git, { signal });
  if (entries.length > MOST_DIRTY)
    throw new GitTrouble(`more than ${MOST_DIRTY} files had uncommitted changes before the run`);
  const budget = { ...HASH_BUDGET };
  const { root } = git.folder;
  const dirty = await eachOf(entries, entry => look(root, entry, budget));
  if (signal?.aborted) throw new GitTrouble('git was no longer waited for');
  return { root, head, branch, headLogSize: logSize, dirty, takenAt, readyAt: Date.now() };
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
