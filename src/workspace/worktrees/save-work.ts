import { lstat, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { formatBytes } from '../../base/text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import { eachOf, stampOf, statWorkFile } from '../files/file-stamp.ts';
import { joinPaths, pathBytes, pathText } from '../files/paths.ts';
import { readPlainFile } from '../files/text-file.ts';
import { COMMITTER, commitTree, readRefs, type TreeChange } from '../git/commits.ts';
import { type Git, GitError, runWithLockRetry } from '../git/git.ts';
import { gitOperationInProgress } from '../git/git-folder.ts';
import { type GitIndex, withHonestIndex } from '../git/git-index.ts';
import { readStatusUnder, type Status, type StatusEntry } from '../git/git-status.ts';
import { copiedPaths, keptIgnoreRules, readyFile, setUpFile } from './worktree-place.ts';

const SAVE_TIMEOUT_MS = 300_000;
/** Timeout for reads that change nothing and that somebody waits for. */
const READ_TIMEOUT_MS = 60_000;

/** Uncommitted work of the agent, without unchanged files of the set-up. */
export const readUnsaved = (git: Git): Promise<Status> =>
  withHonestIndex(git, index => unsavedBy(git, index, READ_TIMEOUT_MS));

async function unsavedBy(git: Git, { file }: GitIndex, limitMs: number): Promise<Status> {
  const { gitDir, root } = git.folder;
  const how = { limitMs, env: { GIT_INDEX_FILE: file } };
  const rules = await keptIgnoreRules(gitDir);
  const [status, copied] = await Promise.all([readStatusUnder(git, rules, how), copiedPaths(gitDir)]);
  const readyAt = await readyTime(gitDir);
  const isWork = await eachOf(status.entries, async ({ path, isUntracked }) => {
    if (!isUntracked || !copied.has(path)) return true;
    const found = await lstat(pathBytes(root, path)).catch(() => null);
    return !found || found.ctimeMs > readyAt;
  });
  return { ...status, entries: status.entries.filter((_, at) => isWork[at]) };
}

/** When the work tree was ready for its agent, including its set-up. */
export async function readyTime(gitDir: string): Promise<number> {
  const times = [readyFile(gitDir), setUpFile(gitDir)].map(async mark => {
    const found = await lstat(mark).catch(() => null);
    return found?.isFile() ? found.ctimeMs : 0;
  });
  return Math.max(...(await Promise.all(times)));
}

/** Describes a git operation in progress, such as a merge. Uncommitted files may then be half of its result. */
export function describeOperation(git: Git): string | null {
  const operation = gitOperationInProgress(git);
  return operation && `${operation} is under way in it: finish or abort that there, then try again`;
}

/** Describes a repository inside the work tree. It has commits that exist nowhere else, so it cannot be saved. */
export function describeUntrackedRepository({ entries }: Status): string | null {
  const nested = entries.find(({ path, isUntracked }) => isUntracked && path.endsWith('/'));
  return nested ? describeNested(nested.path) : null;
}

export const describeNested = (path: string): string =>
  `it contains another repository, ${pathText(path)}: move that elsewhere or delete it, then try again`;

/** Maximum amount that is copied into the `.git` of a repository without asking the user. */
const MAX_COPIED_BYTES = 256 * 1024 ** 2;
const MAX_NAMED = 3;

/** Describes uncommitted files that are too large to be saved without asking. Null if there are none. */
export async function describeLargeFiles(
  git: Git,
  path: string,
  { entries }: Status,
): Promise<string | null> {
  const files = await eachOf(entries, async entry => {
    const found = await statWorkFile(git.folder.root, entry.path);
    return { path: entry.path, size: Number(found?.size ?? 0) };
  });
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= MAX_COPIED_BYTES) return null;
  const largest = files.toSorted((a, b) => b.size - a.size).slice(0, MAX_NAMED);
  const named = largest.map(file => `${pathText(file.path)} ${formatBytes(file.size)}`).join(', ');
  const more = files.length > MAX_NAMED ? ` and ${files.length - MAX_NAMED} more` : '';
  return `its files that are not committed take ${formatBytes(bytes)} (${named}${more}), which would be copied into the repository's .git: delete or move what is not needed, or have all of it copied with \`squad worktrees prune ${shellWord(basename(path))} --save-large\``;
}

/** Work that was saved under a ref, with the state of the folder at that moment. */
export interface Saved {
  ref: string | null;
  /** The commit with uncommitted work, if `ref` contains any. */
  commit: string | null;
  seen: string;
}

export interface SaveOptions {
  /** True to save uncommitted files even if they are so large that the user has to decide. */
  saveLarge: boolean;
}

/**
 * Saves uncommitted work and unreferenced commits under a ref, without touching folder, index or branch. `ref` is
 * null when there is nothing to save. `last` is the result of the previous call, which is returned if nothing has
 * changed since.
 */
export const saveWork = (
  git: Git,
  { path, branch }: Worktree,
  { saveLarge }: SaveOptions,
  last?: Saved,
): Promise<Saved> =>
  withHonestIndex(git, async index => {
    const before = await statWorkFile(git.folder.gitDir, 'index');
    const unsaved = await unsavedBy(git, index, SAVE_TIMEOUT_MS);
    const stamps = await eachOf(unsaved.entries, async entry => {
      const found = await statWorkFile(git.folder.root, entry.path);
      return `${entry.path}\0${found && stampOf(found)}`;
    });
    const seen = [before && stampOf(before), ...stamps].join('\0');
    if (last?.seen === seen) return last;
    const obstacle =
      describeUntrackedRepository(unsaved) ??
      (saveLarge ? null : await describeLargeFiles(git, path, unsaved));
    if (obstacle) throw new GitError(obstacle);
    if (unsaved.entries.length === 0) {
      const loose = await saveUnreferencedCommits(git, path, git.folder.gitDir);
      return { ref: last?.ref ?? loose, commit: last?.commit ?? null, seen };
    }
    const commit = await commitWork(index, unsaved, branch);
    const ref = await keepCommit(git, path, commit, last);
    await saveUnreferencedCommits(git, path, git.folder.gitDir);
    return { ref, commit, seen };
  });

/** Newer work replaces what the same removal saved before. */
async function keepCommit(git: Git, path: string, commit: string, last?: Saved): Promise<string> {
  if (!last?.ref || !last.commit) return createBackupRef(git, path, commit);
  await runWithLockRetry(git, ['update-ref', last.ref, commit, last.commit]);
  return last.ref;
}

/**
 * Commits the folder's files. `index` is a copy of the real index and contains the files afterwards. If the real
 * index had a version of a file that neither HEAD nor the folder has, a second parent contains the index.
 */
async function commitWork(index: GitIndex, { head, entries }: Status, branch: string): Promise<string> {
  const parents = head === null ? [] : [head];
  const before = head === null ? null : await index.changesFrom(head);
  // An index with conflicts cannot be written as a tree. The conflicting versions come from commits, so nothing is
  // lost.
  const staged = before?.length === 0 ? null : await index.writeTree().catch(() => null);
  await addFiles(index, entries);
  const tree = await index.writeTree();
  const hasOwn = before ? hasOther(before, await index.changesFrom(head!)) : staged !== tree;
  if (staged !== null && hasOwn)
    parents.push(await commitTree(index.git, staged, parents, `What was staged in ${branch}`));
  return commitTree(index.git, tree, parents, `Work that was not committed in ${branch}`);
}

/**
 * Does not use `git add`, which runs git in submodules with their own configuration. Throws GitError when git leaves
 * a file out.
 */
async function addFiles(index: GitIndex, entries: readonly StatusEntry[]): Promise<void> {
  const how = ['--add', '--remove', '--replace', '--ignore-skip-worktree-entries', '-z', '--stdin'];
  const list = joinPaths(entries.map(({ path }) => path));
  await index.run(['update-index', ...how], list, SAVE_TIMEOUT_MS);
  // Git silently skips names that mean its own folder on another system.
  const [names, changed] = [await index.paths(), await index.changedPaths()];
  const isLeftOut = await eachOf(entries, async ({ path }) => {
    if (changed.has(path)) return true;
    const found = names.has(path) ? null : await statWorkFile(index.git.folder.root, path);
    return found !== null && !found.isDirectory();
  });
  const left = entries[isLeftOut.indexOf(true)];
  if (left)
    throw new GitError(
      `git does not accept its file ${pathText(left.path)}: move that elsewhere, then try again`,
    );
}

function hasOther(staged: readonly TreeChange[], inFolder: readonly TreeChange[]): boolean {
  const known = new Map(inFolder.map(({ path, is }) => [path, is]));
  return staged.some(({ path, is }) => is !== null && known.get(path)?.oid !== is.oid);
}

const MAX_SAVED = 1000;
const REFERENCED = ['--branches', '--tags', '--remotes', '--glob=refs/squad'];
const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * Puts a ref on commits that are reachable only from this work tree: from its HEAD, its own refs, or their logs.
 * Returns null if there are no such commits.
 */
export const saveUnreferencedCommits = async (
  git: Git,
  path: string,
  gitDir: string,
): Promise<string | null> => saveCommits(git, path, await mentionedIn(gitDir));

/** Saves commits under a ref if no other ref contains them. Null if there are none. */
export async function saveCommits(git: Git, path: string, oids: string[]): Promise<string | null> {
  const commits = await existingCommits(git, oids);
  if (commits.length === 0) return null;
  const input = Buffer.from(commits.map(each => `${each}\n`).join(''));
  const args = ['rev-list', '--topo-order', '--parents', '--stdin', '--not', ...REFERENCED];
  const list = String(await git.run(args, { input, env: COMMITTER, limitMs: SAVE_TIMEOUT_MS }));
  const loose = list
    .split('\n')
    .slice(0, -1)
    .map(each => each.split(' '));
  const parents = new Set(loose.flatMap(([, ...of]) => of));
  const tips = loose.flatMap(([commit]) => (parents.has(commit!) ? [] : [commit!]));
  const [tip] = tips;
  if (tip === undefined) return null;
  // A commit with all these commits as parents, so that one ref is enough.
  const kept =
    tips.length === 1
      ? tip
      : await commitTree(git, `${tip}^{tree}`, tips, 'Commits that were on no branch any more');
  return createBackupRef(git, path, kept);
}

/** Names the ref after the work tree, with a number if that name is taken. */
async function createBackupRef(git: Git, path: string, commit: string): Promise<string> {
  const name = savedRefOf({ path });
  const taken = await readRefs(git, 'refs/squad/saved');
  for (let n = 1; n < MAX_SAVED; n++) {
    const ref = n === 1 ? name : `${name}-${n}`;
    if (taken.has(ref)) continue;
    // The zeros make the command fail if somebody has created this ref meanwhile.
    await runWithLockRetry(git, ['update-ref', ref, commit, '0'.repeat(commit.length)]);
    return ref;
  }
  throw new GitError(`there are ${MAX_SAVED} refs ${name} already`);
}

/** Object ids in the git folder of one work tree. FETCH_HEAD is left out, because its commits are also on a remote. */
async function mentionedIn(gitDir: string): Promise<string[]> {
  const names = await readdir(gitDir).catch(() => []);
  const own = names.filter(name => /^[A-Z_]+$/.test(name) && name !== 'FETCH_HEAD');
  const files = [
    ...own.map(name => join(gitDir, name)),
    ...(await filesIn(join(gitDir, 'refs'))),
    ...(await filesIn(join(gitDir, 'logs'))),
  ];
  const found = new Set<string>();
  for (const file of files)
    for (const row of String((await readPlainFile(file)) ?? '').split('\n'))
      for (const word of row.split(' ', 2)) if (OID.test(word) && !/^0+$/.test(word)) found.add(word);
  return [...found];
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries.flatMap(entry => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}

/** Returns the commits that still exist: a log may name commits that git has deleted. */
async function existingCommits(git: Git, oids: string[]): Promise<string[]> {
  if (oids.length === 0) return [];
  const input = Buffer.from(oids.map(oid => `${oid}^{commit}\n`).join(''));
  const args = ['cat-file', '--batch-check=%(objectname)'];
  const list = String(await git.run(args, { input, env: COMMITTER, limitMs: SAVE_TIMEOUT_MS }));
  return list.split('\n').filter(each => OID.test(each));
}
