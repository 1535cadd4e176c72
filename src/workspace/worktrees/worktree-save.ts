import { lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import { formatBytes } from '../../base/text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { eachOf, stampOf, statWorkFile } from '../files/file-stamp.ts';
import { pathBytes, pathText } from '../files/paths.ts';
import { type Git, GitError, runWithLockRetry } from '../git/git.ts';
import type { Status, StatusEntry } from '../git/git-status.ts';
import { readStatusUnder } from '../git/ignore-rules.ts';
import { COMMITTER, line, type ScratchIndex } from './branch-commit.ts';
import { gitOperationInProgress } from './branch-place.ts';
import { createBackupRef, saveUnreferencedCommits } from './unreferenced-commits.ts';
import { withHonestIndex } from './worktree-index.ts';
import { describeNested } from './worktree-nested.ts';
import { copiedPaths, keptIgnoreRules, readyFile, setUpFile } from './worktree-place.ts';
import { treeOf } from './worktree-tree.ts';

const SAVE_MS = 300_000;
/** For a look that changes nothing and that somebody waits for. */
const LOOK_MS = 60_000;

/** What is in a work tree and in no commit: of the agent, not what the set-up put there and nobody touched since. */
export interface Unsaved extends Status {
  untouched: StatusEntry[];
}

export const readUnsaved = (git: Git): Promise<Unsaved> =>
  withHonestIndex(git, ({ index }) => unsavedBy(git, index, LOOK_MS));

async function unsavedBy(git: Git, { file }: ScratchIndex, limitMs: number): Promise<Unsaved> {
  const { gitDir, root } = git.folder;
  const how = { limitMs, env: { GIT_INDEX_FILE: file } };
  const rules = await keptIgnoreRules(gitDir);
  const [status, copied] = await Promise.all([readStatusUnder(git, rules, how), copiedPaths(gitDir)]);
  const readyAt = await readyTime(gitDir);
  const untouched = new Set<StatusEntry>();
  for (const entry of status.entries)
    if (entry.isUntracked && copied.has(entry.path)) {
      const found = await lstat(pathBytes(root, entry.path)).catch(() => null);
      if (found && found.ctimeMs <= readyAt) untouched.add(entry);
    }
  const entries = status.entries.filter(entry => !untouched.has(entry));
  return { ...status, entries, untouched: [...untouched] };
}

/** When the work tree was ready for its agent, set up and all. */
export async function readyTime(gitDir: string): Promise<number> {
  const times = [readyFile(gitDir), setUpFile(gitDir)].map(async mark => {
    const found = await lstat(mark).catch(() => null);
    return found?.isFile() ? found.ctimeMs : 0;
  });
  return Math.max(...(await Promise.all(times)));
}

/** A merge or the like: what is not committed may be half of it. */
export function unfinishedIn(git: Git): string | null {
  const begun = gitOperationInProgress({ git });
  return begun && `${begun} is under way in it: finish or abort that there, then try again`;
}

/** A repository in it has commits that are nowhere else, so it cannot be saved along. Null: there is none. */
export function nestedIn({ entries }: Unsaved): string | null {
  const nested = entries.find(({ path, isUntracked }) => isUntracked && path.endsWith('/'));
  return nested ? describeNested(nested.path) : null;
}

/** Null: what is not committed is small enough to be saved without asking. */
export async function tooLargeIn(git: Git, path: string, { entries }: Unsaved): Promise<string | null> {
  const root = git.folder.root;
  const large = await describeLargeFiles(
    root,
    entries.map(entry => entry.path),
  );
  return (
    large &&
    `${large}: delete or move what is not needed, or have all of it copied with \`squad worktrees prune ${shellWord(basename(path))} --save-large\``
  );
}

/** What was put under refs, and how the folder was then. */
export interface Saved {
  ref: string | null;
  /** Under `ref`, when that is work that was not committed. */
  commit: string | null;
  seen: string;
}

export interface SaveOptions {
  /** Also when it is so much that the user has to decide. */
  saveLarge: boolean;
}

/**
 * Puts it under a ref of its own, without touching folder, index or branch; `ref` is null when there is nothing to save.
 * `last` is what a look before this one saved: nothing more is done when all is as it was.
 */
export async function saveWork(
  git: Git,
  { path, branch }: Worktree,
  { saveLarge }: SaveOptions,
  last?: Saved,
): Promise<Saved> {
  return withHonestIndex(git, async ({ index }) => {
    const before = await statWorkFile(git.folder.gitDir, 'index');
    const unsaved = await unsavedBy(git, index, SAVE_MS);
    const seen = [before && stampOf(before), ...(await stampsOf(git.folder.root, unsaved))].join('\0');
    if (last?.seen === seen) return last;
    const nested = nestedIn(unsaved);
    if (nested) throw new GitError(nested);
    const large = saveLarge ? null : await tooLargeIn(git, path, unsaved);
    if (large) throw new GitError(large);
    if (unsaved.entries.length === 0) {
      const loose = await saveUnreferencedCommits(git, path, git.folder.gitDir);
      return { ref: last?.ref ?? loose, commit: last?.commit ?? null, seen };
    }
    const commit = await commitOf(git, index, unsaved, branch);
    const ref = await kept(git, path, commit, last);
    await saveUnreferencedCommits(git, path, git.folder.gitDir);
    return { ref, commit, seen };
  });
}

/** What is newer takes the place of what the same removal saved. */
async function kept(git: Git, path: string, commit: string, last?: Saved): Promise<string> {
  if (!last?.ref || !last.commit) return createBackupRef(git, path, commit);
  await runWithLockRetry(git, ['update-ref', last.ref, commit, last.commit]);
  return last.ref;
}

const stampsOf = (root: string, { entries }: Unsaved): Promise<string[]> =>
  eachOf(entries, async ({ path }) => {
    const found = await statWorkFile(root, path);
    return `${path}\0${found && stampOf(found)}`;
  });

async function commitOf(
  git: Git,
  index: ScratchIndex,
  { head, entries }: Unsaved,
  branch: string,
): Promise<string> {
  const commit = async (tree: string, parents: (string | null)[], message: string) => {
    const known = parents.flatMap(parent => (parent === null ? [] : ['-p', parent]));
    return line(await git.run(['commit-tree', tree, ...known, '-m', message], { env: COMMITTER }));
  };
  const { tree, staged } = await treeOf(git, index, { head, entries });
  const second = staged && (await commit(staged, [head], `What was staged in ${branch}`));
  return commit(tree, [head, second], `Work that was not committed in ${branch}`);
}

/** More than this is not copied into the `.git` of a repository unless the user says so. */
const MAX_COPIED_BYTES = 256 * 1024 ** 2;
const MAX_NAMED = 3;

/** Null: the files together are small enough to be copied without asking. */
async function describeLargeFiles(root: string, paths: readonly string[]): Promise<string | null> {
  const sizes = await eachOf(paths, async path => Number((await statWorkFile(root, path))?.size ?? 0));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= MAX_COPIED_BYTES) return null;
  const bySize = paths.map((path, at) => ({ path, size: sizes[at]! })).sort((a, b) => b.size - a.size);
  const named = bySize.slice(0, MAX_NAMED).map(({ path, size }) => `${pathText(path)} ${formatBytes(size)}`);
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  return `its files that are not committed take ${formatBytes(bytes)} (${named.join(', ')}${more}), which would be copied into the repository's .git`;
}
