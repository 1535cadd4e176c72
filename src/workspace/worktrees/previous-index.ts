import { constants } from 'node:fs';
import { copyFile, link, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BranchMove } from '../../schema/review.ts';
import type { Git } from '../git/git.ts';
import { copyIndex, readIndex } from '../git/git-index.ts';
import type { ScratchIndex } from './branch-commit.ts';

const PREFIX = 'squad-former-';

/**
 * The index from before a move, which no commit holds: what was staged though it is ignored, or only meant to be added. It lies
 * beside the index, by the commit moved to, until the move is undone or one after the next is made.
 */
export class PreviousIndex {
  readonly #gitDir: string;
  readonly #move: BranchMove;
  readonly #file: string;

  constructor({ folder: { gitDir } }: Git, move: BranchMove) {
    this.#gitDir = gitDir;
    this.#move = move;
    this.#file = join(gitDir, `${PREFIX}${move.to}`);
  }

  isKept = async (): Promise<boolean> => (await readIndex(this.#file)) !== null;

  /** Under the lock on the index. A move that is made again after a death keeps the first. Returns how to let go of it. */
  async keep(): Promise<() => Promise<void>> {
    const index = join(this.#gitDir, 'index');
    try {
      await link(index, this.#file).catch((thrown: NodeJS.ErrnoException) => {
        if (thrown.code === 'EEXIST' || thrown.code === 'ENOENT') throw thrown;
        return copyFile(index, this.#file, constants.COPYFILE_EXCL);
      });
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EEXIST' || code === 'ENOENT') return async () => {};
      throw thrown;
    }
    return () => this.drop();
  }

  /** Makes it of a copy of the present one. Whatever was staged since the move stays so. */
  async restore(index: ScratchIndex): Promise<void> {
    const since = await index.changes('diff-index', '--cached', this.#move.to);
    await rm(index.file, { force: true });
    await copyIndex(this.#file, index, () => this.#move.from);
    await index.set(since.map(({ path, is }) => [path, is] as const));
  }

  drop = (): Promise<void> => rm(this.#file, { force: true });

  /** Only the last two moves can still be undone, one after the other. */
  async dropOlder(): Promise<void> {
    const stay = [this.#move.to, this.#move.from].map(commit => `${PREFIX}${commit}`);
    for (const name of await readdir(this.#gitDir))
      if (name.startsWith(PREFIX) && !stay.includes(name))
        await rm(join(this.#gitDir, name), { force: true });
  }
}
