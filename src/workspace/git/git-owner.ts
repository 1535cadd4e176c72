import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitFolder } from './git-folder.ts';

/** What git itself asks before it looks at a repository, unless it is told where that is, as ours is. */
export async function isOwnedBy({ root, gitDir }: GitFolder, uid: number): Promise<boolean> {
  const paths = [root, join(root, '.git'), gitDir];
  const found = await Promise.all(paths.map(path => lstat(path).catch(() => null)));
  return found.every(stats => stats === null || stats.uid === uid);
}

/** Whether values of `safe.directory` name the folder. */
export const isAmong = (folders: readonly string[], root: string): boolean =>
  folders.some(
    folder =>
      folder === '*' || folder === root || (folder.endsWith('/*') && root.startsWith(folder.slice(0, -1))),
  );
