import { eachOf, statWorkFile } from '../files/file-stamp.ts';
import { pathText } from '../files/paths.ts';
import { type Git, GitError } from '../git/git.ts';
import { listed } from '../git/git-index.ts';
import type { StatusEntry } from '../git/git-status.ts';
import type { Change, ScratchIndex } from './branch-commit.ts';

const SAVE_MS = 300_000;

export interface Trees {
  /** As the folder is. */
  tree: string;
  /** As the index was; null unless it has a file in a version that neither HEAD nor the folder has. */
  staged: string | null;
}

/** The index is a copy of the real one, and holds the folder's files afterwards. Throws GitTrouble when git leaves one out. */
export async function treeOf(
  git: Git,
  index: ScratchIndex,
  { head, entries }: { head: string | null; entries: readonly StatusEntry[] },
): Promise<Trees> {
  const before = head && (await index.changes('diff-index', '--cached', head));
  // Where there are conflicts there is none; what is in conflict comes from commits.
  const staged = before?.length === 0 ? null : await index.writeTree().catch(() => null);
  await takeIn(index, entries);
  await refuseIfLeftOut(git, index, entries);
  const tree = await index.writeTree();
  const isOwn = before
    ? hasOther(before, await index.changes('diff-index', '--cached', head!))
    : staged !== tree;
  return { tree, staged: isOwn ? staged : null };
}

/** Not `git add`, which starts a git in submodules, with a configuration that is theirs. */
async function takeIn(index: ScratchIndex, entries: readonly StatusEntry[]): Promise<void> {
  const list = Buffer.from(entries.map(({ path }) => `${path}\0`).join(''), 'latin1');
  const how = ['--add', '--remove', '--replace', '--ignore-skip-worktree-entries', '-z', '--stdin'];
  await index.run(['-c', 'core.ignoreStat=false', 'update-index', ...how], list, SAVE_MS);
}

/** Git passes over some names without failing, those that mean its own folder on another system. */
async function refuseIfLeftOut(
  { folder: { root } }: Git,
  index: ScratchIndex,
  entries: readonly StatusEntry[],
): Promise<void> {
  const names = listed(await index.run(['ls-files', '-z'], undefined, SAVE_MS));
  const args = ['diff-files', '--name-only', '-z', '--no-renames', '--ignore-submodules=all'];
  const unlike = listed(await index.run(args, undefined, SAVE_MS));
  const isLeftOut = await eachOf(entries, async ({ path }) => {
    if (unlike.has(path)) return true;
    const found = names.has(path) ? null : await statWorkFile(root, path);
    return found !== null && !found.isDirectory();
  });
  const at = isLeftOut.indexOf(true);
  if (at >= 0)
    throw new GitError(
      `git does not take in its file ${pathText(entries[at]!.path)}: move that elsewhere, then try again`,
    );
}

function hasOther(staged: readonly Change[], inFolder: readonly Change[]): boolean {
  const known = new Map(inFolder.map(({ path, is }) => [path, is]));
  return staged.some(({ path, is }) => is !== null && known.get(path)?.oid !== is.oid);
}
