import { link, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../git/git.ts';
import { copyIndex, isSameIndex, readIndex, withIndexLock } from '../git/git-index.ts';
import { type ScratchIndex, withScratchIndex } from './branch-commit.ts';

/** The agent's git is quick; it cannot be quicker this often. */
const TRIES = 20;

export interface Swap {
  /** For an index that is not there yet. */
  tip: string;
  /** Changes a copy of the index. */
  build(index: ScratchIndex): Promise<void>;
  /** What belongs to it, and takes it back when it fails. */
  along(): Promise<void>;
  /** How long another git is waited for. */
  patienceMs?: number;
  /** Keeps the index that is to be replaced for later, and returns how to let go of it. */
  keep?(): Promise<() => Promise<void>>;
}

/**
 * A work tree's index is replaced by a changed copy, and the branch moves with it, under git's lock on the index. The copy is
 * made before, so that the agent's git meets the lock for as short as can be; had the index changed meanwhile, all over again.
 * First the index, then the branch: a `git commit` reads HEAD before the index, so whoever sees the new tip sees the new
 * index. The other way round it would put an old index on the new tip, and with that take back what we committed.
 */
export async function swapIndex(git: Git, swap: Swap): Promise<boolean> {
  const { gitDir, root } = git.folder;
  const file = join(gitDir, 'index');
  const attempt = async (index: ScratchIndex): Promise<boolean> => {
    const was = await copyIndex(file, index, () => swap.tip);
    await swap.build(index);
    const replace = async () => {
      if (!isSameIndex(await readIndex(file), was)) return false;
      const kept = `${index.file}.kept`;
      if (was) await link(file, kept);
      const letGo = await swap.keep?.();
      await rename(index.file, file);
      try {
        await swap.along();
      } catch (thrown) {
        await letGo?.();
        await (was ? rename(kept, file) : rm(file, { force: true }));
        throw thrown;
      }
      return true;
    };
    return withIndexLock(gitDir, replace, { patienceMs: swap.patienceMs, ownTree: root });
  };
  for (let tried = 0; tried < TRIES; tried++) if (await withScratchIndex(git, attempt, gitDir)) return true;
  return false;
}
