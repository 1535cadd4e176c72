import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FolderFit } from '../../core/ports/integration.ts';
import { statWorkFile } from '../files/file-stamp.ts';
import { pathBytes, pathText } from '../files/paths.ts';
import type { TreeChange } from '../git/commits.ts';
import type { Git } from '../git/git.ts';
import { gitOperationInProgress } from '../git/git-folder.ts';
import { ownIndex, withIndexCopy } from '../git/git-index.ts';
import { treeChanges } from '../git/git-status.ts';

const MAX_NAMED = 20;

/** Whether a work tree can go from one commit to another without anything of the user's in the way. Changes nothing. */
export async function folderFit(git: Git, { from, to }: { from: string; to: string }): Promise<FolderFit> {
  const { files, submodules } = await treeChanges(git, from, to);
  const paths = files.map(({ path }) => path);
  const changed = await withIndexCopy(git, from, async index => {
    await index.unhide(new Set(paths));
    return index.changedPaths({ commit: from });
  });
  const untracked = await untrackedInTheWay(git.folder.root, files);
  const written = files.filter(({ is }) => is).map(({ path }) => path);
  const filtered = written.length === 0 ? [] : await ownIndex(git).filteredPaths(written);
  const operation = gitOperationInProgress(git);
  return {
    obstacles: [
      ...(operation ? [`${operation} is under way`] : []),
      ...named(
        paths.filter(path => changed.has(path)),
        'has uncommitted changes',
      ),
      ...named(untracked, 'is there and not in git'),
    ],
    warnings: [
      ...named(
        filtered,
        'is kept by a filter such as Git LFS, which Squad does not run: it will be as git stores it',
      ),
      ...named(submodules, 'is a submodule that will be at another commit: `git submodule update` follows'),
    ],
  };
}

/** Files where a new file is to be, ignored by git or not: the user did not ask to lose them. */
async function untrackedInTheWay(root: string, files: readonly TreeChange[]): Promise<string[]> {
  const leaving = new Set(files.filter(({ is }) => !is).map(({ path }) => path));
  const found = new Set<string>();
  const checked = new Set<string>();
  for (const { path, was } of files) {
    if (was) continue;
    const stat = await statWorkFile(root, path);
    if (stat && !(stat.isDirectory() && (await onlyLeaving(root, path, leaving)))) found.add(path);
    for (let folder = dirname(path); folder !== '.' && !checked.has(folder); folder = dirname(folder)) {
      checked.add(folder);
      const above = await statWorkFile(root, folder);
      if (above && !above.isDirectory() && !leaving.has(folder)) found.add(folder);
    }
  }
  return [...found];
}

/** A folder that is to become a file may hold nothing but files that are removed. */
async function onlyLeaving(root: string, folder: string, leaving: ReadonlySet<string>): Promise<boolean> {
  for (const entry of await readdir(pathBytes(root, folder), { encoding: 'latin1', withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    const goes = entry.isDirectory() ? await onlyLeaving(root, path, leaving) : leaving.has(path);
    if (!goes) return false;
  }
  return true;
}

function named(paths: readonly string[], what: string): string[] {
  const more = paths.length - MAX_NAMED;
  return [
    ...paths.slice(0, MAX_NAMED).map(path => `${pathText(path)} ${what}`),
    ...(more > 0 ? [`and ${more} more like it`] : []),
  ];
}
