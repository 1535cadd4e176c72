import { rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Checkpoint } from '../core/ports/integration.ts';
import type { ScratchIndex } from './branch-commit.ts';
import type { Git } from './git.ts';
import { listed, unlessSaid, unlike, withIndexCopy } from './index-files.ts';
import { pathBytes, pathText } from './path-text.ts';
import { type TreeChange, treeChanges } from './tree-changes.ts';
import { eachOf, statWorkFile } from './work-file.ts';

const LIMIT_MS = 120_000;

/**
 * Brings files and index of a work tree from one commit to another, after its branch. A file goes only when it is as it was
 * in the old commit, and nothing is written over another; so it may be done again from wherever a killed process left it.
 * The caller holds the index. Returns what is not as it should be.
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
  const unlikeOld = await unlike(before);
  const unlikeNew = await unlike(after);
  const isOld = ({ path, was }: TreeChange) => was && !unlikeOld.has(path);
  const goes = files.filter(file => isOld(file) && (!file.is || unlikeNew.has(file.path)));
  for (const { path } of goes) await unlink(pathBytes(root, path));
  for (const { path, is } of goes) if (!is) await removeEmptied(root, path);
  checkpoint('old files removed');

  const wanted = (await absent(root, files)).filter(({ is }) => is);
  const input = Buffer.from(wanted.map(({ path }) => `${path}\0`).join(''), 'latin1');
  // What came to be there meanwhile stays, and is told below.
  if (wanted.length > 0)
    await after.run(['checkout-index', '-q', '-u', '-z', '--stdin'], input, LIMIT_MS).catch(unlessSaid);
  checkpoint('new files written');
  const unlikeAfter = await unlike(after);
  await rename(after.file, join(gitDir, 'index'));
  checkpoint('index installed');

  const gone = new Set(await absent(root, files));
  return [
    ...files
      .filter(({ path, is }) => is && unlikeAfter.has(path))
      .map(({ path }) => `${pathText(path)} was left as it is in the folder`),
    ...files
      .filter(file => !file.is && !gone.has(file))
      .map(({ path }) => `${pathText(path)} is still in the folder: it had changes of its own`),
  ];
}

/** The index is put there last, so when it is, everything is. */
async function isDone(index: ScratchIndex, to: string, files: readonly TreeChange[]): Promise<boolean> {
  const args = ['diff-index', '--cached', '--name-only', '-z', '--no-renames', '--ignore-submodules=all', to];
  const left = listed(await index.run(args));
  return files.length > 0 && !files.some(({ path }) => left.has(path));
}

/** A folder that is there instead is no file. */
async function absent(root: string, files: readonly TreeChange[]): Promise<TreeChange[]> {
  const found = await eachOf(files, ({ path }) => statWorkFile(root, path));
  return files.filter((_, at) => !found[at] || found[at].isDirectory());
}

/** A folder that nothing is left in goes with its last file, as git does it. */
async function removeEmptied(root: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
    if (!(await rmdir(pathBytes(root, folder)).then(yes, no))) return;
}
const yes = () => true;
const no = () => false;
