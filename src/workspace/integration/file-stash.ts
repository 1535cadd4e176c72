import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathBytes, pathText } from '../files/paths.ts';
import type { Git } from '../git/git.ts';
import { changedPaths, listed } from '../git/git-index.ts';
import { withScratchIndex } from '../worktrees/branch-commit.ts';
import { placeIfAbsent } from './file-exchange.ts';

/** Where files are while others take their places: on the disk of the work tree, so that a rename is enough. */
export interface FileStash {
  folder: string;
  old: string;
  next: string;
}

/** One at a time: whoever makes one holds the index. */
export async function createStash({ folder: { root, gitDir } }: Git): Promise<FileStash> {
  const [tree, inGit] = await Promise.all([stat(root), stat(gitDir)]);
  const aside = asideAt(placesOf(root, gitDir)[tree.dev === inGit.dev ? 0 : 1]);
  for (const folder of [aside.old, aside.next]) await mkdir(folder, { recursive: true });
  return aside;
}

/**
 * After a process that was killed on the way: what it had taken out goes back, unless something else is there and it is no more
 * than what the commit has. Returns what is worth telling.
 */
export async function restoreStash(git: Git, commit: string): Promise<string[]> {
  const { root, gitDir } = git.folder;
  const notes: string[] = [];
  for (const { folder, old } of placesOf(root, gitDir).map(asideAt)) {
    if (!existsSync(folder)) continue;
    const paths = existsSync(old) ? await filesIn(old) : [];
    const inGit = await sameAsIn(git, commit, old);
    for (const path of paths) {
      const file = pathBytes(old, path);
      if (!placeIfAbsent(root, path, file) && !inGit.has(path))
        notes.push(saveConflictingCopy(root, path, file));
    }
    await rm(folder, { recursive: true, force: true });
  }
  return notes;
}

/** For what somebody saved twice in one moment: both stay. */
export function saveConflictingCopy(root: string, path: string, file: Buffer): string {
  for (let at = 1; at <= MAX_COPIES; at++) {
    const beside = `${path}.kept-${at}`;
    if (placeIfAbsent(root, beside, file))
      return `${pathText(path)} was saved meanwhile, and is ${pathText(beside)}`;
  }
  throw new Error(`${pathText(path)} was saved meanwhile and cannot be put back`);
}
const MAX_COPIES = 100;

const placesOf = (root: string, gitDir: string): [string, string] => [
  join(gitDir, 'squad-aside'),
  join(root, '.squad-aside'),
];

const asideAt = (folder: string): FileStash => ({
  folder,
  old: join(folder, 'old'),
  next: join(folder, 'new'),
});

/** Files under a folder that are as in the commit. */
const sameAsIn = (git: Git, commit: string, folder: string): Promise<Set<string>> =>
  withScratchIndex(git, async index => {
    await index.run(['read-tree', commit]);
    const all = listed(await index.run(['ls-files', '-z']));
    for (const path of await changedPaths(index, { folder })) all.delete(path);
    return all;
  });

/** Adds them to `found`. */
async function filesIn(folder: string, under = '', found: string[] = []): Promise<string[]> {
  const entries = await readdir(pathBytes(folder, under), { encoding: 'latin1', withFileTypes: true });
  for (const entry of entries) {
    const path = under === '' ? entry.name : `${under}/${entry.name}`;
    if (entry.isDirectory()) await filesIn(folder, path, found);
    else found.push(path);
  }
  return found;
}
