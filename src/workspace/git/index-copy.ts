import { open, readFile, stat, utimes } from 'node:fs/promises';
import type { ScratchIndex } from '../worktrees/branch-commit.ts';

/** The index as it is now, byte for byte; null: there is none. Git only ever replaces it as a whole. */
export const readIndex = (file: string): Promise<Buffer | null> =>
  readFile(file).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return null;
    throw thrown;
  });

/** Null when there is none: then `tip` is what the copy holds. */
export async function copyIndex(
  from: string,
  to: ScratchIndex,
  tip: () => string | Promise<string>,
): Promise<Buffer | null> {
  const found = await stat(from, { bigint: true }).catch(() => null);
  const bytes = await readIndex(from);
  if (!bytes || !found) {
    await to.run(['read-tree', await tip()]);
    return bytes;
  }
  const file = await open(to.file, 'wx', 0o600);
  await file.writeFile(bytes).finally(() => file.close());
  // Git takes a file that is younger than the index for changed perhaps, and looks: a copy must not be younger than what it is of.
  const seconds = Number(found.mtimeNs - 1000n) / 1e9;
  await utimes(to.file, seconds, seconds);
  return bytes;
}

export const isSameIndex = (one: Buffer | null, other: Buffer | null): boolean =>
  one === null || other === null ? one === other : one.equals(other);
