import type { BigIntStats } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../../core/ports/integration.ts';
import { eachOf, statWorkFile } from '../files/file-stamp.ts';
import { pathText } from '../files/paths.ts';
import type { Git } from '../git/git.ts';
import {
  changedPaths,
  clearSkipWorktree,
  ignoreExitOne,
  listed,
  setSkipWorktree,
  withIndexCopy,
} from '../git/git-index.ts';
import { type TreeChange, treeChanges } from '../git/git-status.ts';
import type { ScratchIndex } from '../worktrees/branch-commit.ts';
import { exchangeFiles } from './exchange-files.ts';
import { createStash } from './file-stash.ts';

const CHECKOUT_TIMEOUT_MS = 120_000;

/**
 * Brings files and index of a work tree from one commit to another, after its branch. A file goes only when it is as it was
 * in the old commit, and nothing is written over another; so it may be done again from wherever a killed process left it.
 * The caller holds the index, and has put back what was aside. Returns what is not as it should be.
 */
export const followBranch = (git: Git, move: Move, checkpoint: Checkpoint): Promise<string[]> =>
  withIndexCopy(git, move.from, before =>
    withIndexCopy(git, move.from, after => follow(git, move, { before, after }, checkpoint)),
  );

interface Move {
  from: string;
  to: string;
}

async function follow(
  git: Git,
  { from, to }: Move,
  { before, after }: Record<'before' | 'after', ScratchIndex>,
  checkpoint: Checkpoint,
): Promise<string[]> {
  const { root, gitDir } = git.folder;
  const { files } = await treeChanges(git, from, to);
  if (await isDone(before, to, files)) return [];
  await after.run(['read-tree', '-i', '-m', from, to]);
  const paths = files.map(({ path }) => path);
  await clearSkipWorktree(before, root, paths);
  const keptOut = await clearSkipWorktree(after, root, paths);

  // Looked at before git does: what is the same afterwards is what git has read.
  const seen = await statsOf(root, files);
  const [unlikeOld, unlikeNew] = [await changedPaths(before), await changedPaths(after)];
  const goes = new Map<string, BigIntStats>();
  const wanted: string[] = [];
  for (const { path, was, is } of files) {
    const stat = seen.get(path);
    const isOld = stat && was && !unlikeOld.has(path) && (!is || unlikeNew.has(path));
    if (isOld) goes.set(path, stat);
    // A folder that is there instead is no file.
    const isFree = !stat || stat.isDirectory();
    if (is && (isOld || isFree) && !keptOut.absent.has(path)) wanted.push(path);
  }

  const aside = await createStash(git);
  let kept: string[];
  try {
    const comes = await writeNew(after, aside.next, wanted);
    kept = await exchangeFiles({ root, aside, goes, files, comes }, checkpoint);
  } finally {
    await rm(aside.next, { recursive: true, force: true });
  }
  const unlikeAfter = await changedPaths(after);
  await setSkipWorktree(
    after,
    keptOut.present.filter(path => !unlikeAfter.has(path)),
  );
  await rename(after.file, join(gitDir, 'index'));
  checkpoint('index installed');

  const there = await statsOf(root, files);
  return [
    ...files
      .filter(({ path, is }) => is && unlikeAfter.has(path))
      .map(({ path }) => `${pathText(path)} was left as it is in the folder`),
    ...files
      .filter(({ path, is }) => !is && there.get(path)?.isDirectory() === false)
      .map(({ path }) => `${pathText(path)} is still in the folder: it had changes of its own`),
    ...kept,
  ];
}

/** The index is put there last, so when it is, everything is. */
async function isDone(index: ScratchIndex, to: string, files: readonly TreeChange[]): Promise<boolean> {
  const args = ['diff-index', '--cached', '--name-only', '-z', '--no-renames', '--ignore-submodules=all', to];
  const left = listed(await index.run(args));
  return files.length > 0 && !files.some(({ path }) => left.has(path));
}

/** Into a folder of its own, so that attributes are those of the new commit too. Returns what is there as a whole. */
async function writeNew(
  index: ScratchIndex,
  folder: string,
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  const all = new Set(paths);
  if (all.size === 0) return all;
  const input = Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1');
  const at = `--work-tree=${folder}`;
  try {
    await index.run([at, 'checkout-index', '-q', '-u', '-z', '--stdin'], input, CHECKOUT_TIMEOUT_MS);
    return all;
  } catch (trouble) {
    ignoreExitOne(trouble);
    for (const path of await changedPaths(index, { folder })) all.delete(path);
    return all;
  }
}

async function statsOf(root: string, files: readonly TreeChange[]): Promise<Map<string, BigIntStats>> {
  const found = await eachOf(files, ({ path }) => statWorkFile(root, path));
  return new Map(files.flatMap(({ path }, at) => (found[at] ? [[path, found[at]] as const] : [])));
}
