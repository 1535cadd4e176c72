import { type BigIntStats, unlinkSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Checkpoint } from '../../core/ports/integration.ts';
import { pathBytes } from '../files/paths.ts';
import type { TreeChange } from '../git/git-status.ts';
import { isSameFile, look, placeIfAbsent, removeIfUnchanged } from './file-exchange.ts';
import { type FileStash, saveConflictingCopy } from './file-stash.ts';

/** So many, and then others have their turn. */
const AT_ONCE = 32;

interface Exchange {
  root: string;
  aside: FileStash;
  /** As they were when they were found to be in the old commit: to be taken out, when they still are. */
  goes: ReadonlyMap<string, BigIntStats>;
  files: readonly TreeChange[];
  /** Of these the new content is ready. */
  comes: ReadonlySet<string>;
}

/**
 * Takes old files out, puts new ones in, and only then drops the old ones: what somebody saves to any of them meanwhile is what
 * stays. Returns what is worth telling.
 */
export async function exchangeFiles(exchange: Exchange, checkpoint: Checkpoint): Promise<string[]> {
  const { root, aside, goes, files, comes } = exchange;
  const out = new Map<string, BigIntStats>();
  const put = new Map<string, BigIntStats>();
  const isOut = () => checkpoint('old file taken out');
  const leaves = ({ path }: TreeChange): boolean => {
    const seen = goes.get(path);
    if (!seen || !removeIfUnchanged(root, path, { seen, into: aside.old, isOut })) return false;
    out.set(path, seen);
    return true;
  };

  const removed = files.filter(({ is }) => !is);
  await inTurns(removed, leaves);
  for (const { path } of removed) if (out.has(path)) await removeEmptied(root, path);
  checkpoint('old files removed');

  await inTurns(files, change => {
    const { path } = change;
    if (!comes.has(path) || (goes.has(path) && !leaves(change))) return;
    if (!placeIfAbsent(root, path, pathBytes(aside.next, path))) return;
    const stat = look(pathBytes(root, path));
    if (stat) put.set(path, stat);
  });
  checkpoint('new files written');

  const notes: string[] = [];
  await inTurns([...out], ([path, seen]) => {
    const file = pathBytes(aside.old, path);
    if (isSameFile(look(file), seen)) return unlinkSync(file);
    // Saved by somebody who had it open: ours goes again.
    const ours = put.get(path);
    if (ours) removeIfUnchanged(root, path, { seen: ours, into: aside.next });
    if (!placeIfAbsent(root, path, file)) notes.push(saveConflictingCopy(root, path, file));
  });
  await rm(aside.folder, { recursive: true, force: true });
  return notes;
}

async function inTurns<T>(items: readonly T[], act: (item: T) => unknown): Promise<void> {
  for (const [at, item] of items.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) await breathe();
    act(item);
  }
}

/** A folder that nothing is left in goes with its last file, as git does it. */
async function removeEmptied(root: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
    if (!(await rmdir(pathBytes(root, folder)).then(yes, no))) return;
}
const yes = () => true;
const no = () => false;
