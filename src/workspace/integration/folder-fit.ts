import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FolderFit } from '../../core/ports/integration.ts';
import { statWorkFile } from '../files/file-stamp.ts';
import { pathBytes, pathText } from '../files/paths.ts';
import type { Git } from '../git/git.ts';
import { changedPaths, clearSkipWorktree, withIndexCopy } from '../git/git-index.ts';
import { type TreeChange, treeChanges } from '../git/git-status.ts';

const MAX_NAMED = 20;

/** Whether a work tree can go from one commit to another without anything of the user's in the way. Changes nothing. */
export async function folderFit(git: Git, { from, to }: { from: string; to: string }): Promise<FolderFit> {
  const { files, submodules } = await treeChanges(git, from, to);
  const changed = await withIndexCopy(git, from, async index => {
    await clearSkipWorktree(
      index,
      git.folder.root,
      files.map(({ path }) => path),
    );
    return changedPaths(index, { commit: from });
  });
  const inTheWay = await presentBefore(git.folder.root, files);
  const isOn = files.filter(({ path }) => changed.has(path));
  const filtered = await filteredFiles(git, files);
  return {
    obstacles: [
      ...underWay(git.folder.gitDir),
      ...named(
        isOn.map(({ path }) => path),
        'has uncommitted changes',
      ),
      ...named(inTheWay, 'is there and not in git'),
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

const STATES: Record<string, string> = {
  MERGE_HEAD: 'a merge is under way',
  'rebase-merge': 'a rebase is under way',
  'rebase-apply': 'a rebase is under way',
  CHERRY_PICK_HEAD: 'a cherry-pick is under way',
  REVERT_HEAD: 'a revert is under way',
};

const underWay = (gitDir: string): string[] =>
  Object.entries(STATES).flatMap(([file, what]) => (existsSync(join(gitDir, file)) ? what : []));

/** What stands where a new file is to be, ignored by git or not: nobody asked to lose it. */
async function presentBefore(root: string, files: readonly TreeChange[]): Promise<string[]> {
  const leaving = new Set(files.filter(({ is }) => !is).map(({ path }) => path));
  const found = new Set<string>();
  const looked = new Set<string>();
  for (const { path, was } of files) {
    if (was) continue;
    const stat = await statWorkFile(root, path);
    if (stat && !(stat.isDirectory() && (await onlyLeaving(root, path, leaving)))) found.add(path);
    for (let folder = dirname(path); folder !== '.' && !looked.has(folder); folder = dirname(folder)) {
      looked.add(folder);
      const above = await statWorkFile(root, folder);
      if (above && !above.isDirectory() && !leaving.has(folder)) found.add(folder);
    }
  }
  return [...found];
}

/** A folder that is to become a file may hold nothing but what goes. */
async function onlyLeaving(root: string, folder: string, leaving: ReadonlySet<string>): Promise<boolean> {
  for (const entry of await readdir(pathBytes(root, folder), { encoding: 'latin1', withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    const goes = entry.isDirectory() ? await onlyLeaving(root, path, leaving) : leaving.has(path);
    if (!goes) return false;
  }
  return true;
}

async function filteredFiles(git: Git, files: readonly TreeChange[]): Promise<string[]> {
  const paths = files.filter(({ is }) => is).map(({ path }) => path);
  if (paths.length === 0) return [];
  const input = Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1');
  const tokens = (await git.run(['check-attr', '-z', '--stdin', 'filter'], { input }))
    .toString('latin1')
    .split('\0');
  const filtered: string[] = [];
  for (let at = 0; at + 2 < tokens.length; at += 3)
    if (!['unspecified', 'unset'].includes(tokens[at + 2]!)) filtered.push(tokens[at]!);
  return filtered;
}

function named(paths: readonly string[], what: string): string[] {
  const more = paths.length - MAX_NAMED;
  return [
    ...paths.slice(0, MAX_NAMED).map(path => `${pathText(path)} ${what}`),
    ...(more > 0 ? [`and ${more} more like it`] : []),
  ];
}
