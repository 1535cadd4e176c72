import { relative } from 'node:path';
import {
  type ChangedFile,
  type DirtyFile,
  MAX_COMMITS_NAMED,
  type WorkChanges,
  type WorkSnapshot,
} from '../../schema/evidence.ts';
import { eachOf, hashWorkFile, stampOf, statWorkFile } from '../files/file-stamp.ts';
import { pathText } from '../files/paths.ts';
import { isAncestor, SQUAD_EMAIL } from '../git/commits.ts';
import { type Git, GitError } from '../git/git.ts';
import { headLogSince } from '../git/git-folder.ts';
import { withHonestIndex } from '../git/git-index.ts';
import {
  hiddenIgnoreFiles,
  readStatusUnder,
  type Status,
  type TrackedChange,
  trackedChanges,
} from '../git/git-status.ts';
import { feedbackCommits } from '../review/feedback-commits.ts';
import { withoutTeamFiles } from '../team/team-file.ts';

/** A file that has changed since the snapshot. */
export interface Difference {
  path: string;
  status: ChangedFile['status'];
  /**
   * True if the file already had uncommitted changes or was hidden from git, so that its earlier content is unknown.
   */
  wasDirty: boolean;
  /** Git does not track the file and has no content to compare it with. */
  isUntracked: boolean;
  /** Changed lines. Null for binary content and for files that git cannot compare. */
  lines: TrackedChange['lines'];
}

export interface Compared {
  files: Difference[];
  status: Status;
  /** The commit before the run, or the empty tree if there was no commit. */
  base: string;
  /** Why lines could not be counted. Null when they were. */
  uncounted: string | null;
  /** Environment with which git uses the index of the comparison, in which no file is hidden. */
  env: { GIT_INDEX_FILE: string };
  /** Notes about changes that no file shows, such as moved branches. */
  notes: string[];
}

const MAX_HASHED_BYTES = 4n * 1024n * 1024n;
const MAX_NAMED = 3;

/** Compares and calls `use`, which may run git on the same index. The index is removed afterwards. */
export const withComparison = <T>(
  git: Git,
  before: WorkSnapshot,
  workspace: string | undefined,
  use: (compared: Compared) => Promise<T>,
): Promise<T> =>
  withHonestIndex(git, async (index, hidden) => {
    const env = { GIT_INDEX_FILE: index.file };
    const [compared, ignoring] = await Promise.all([
      compare(git, before, workspace, env),
      hiddenIgnoreFiles(git, before.takenAt, { env }),
    ]);
    return use({
      ...compared,
      notes: [...hiddenNotes(before, hidden.absent.size), ...ignoringNotes(ignoring)],
    });
  });

/**
 * Compares clean files with the commit before the run, wherever HEAD is now, so that committed and uncommitted
 * changes count alike. Compares dirty files with their own stamp and hash from before the run.
 */
async function compare(
  git: Git,
  before: WorkSnapshot,
  workspace: string | undefined,
  env: Compared['env'],
): Promise<Omit<Compared, 'notes'>> {
  if (git.folder.root !== before.root) throw new GitError('the repository from before the run is gone');
  const base = before.head ?? (await emptyTree(git));
  const [status, { byPath: tracked, uncounted }] = await Promise.all([
    readStatusUnder(git, before.ignoreRules, { env }),
    trackedChanges(git, base, { env }),
  ]);
  const untracked = new Set(status.entries.filter(each => each.isUntracked).map(({ path }) => path));
  const dirty = new Map(before.dirty.map(file => [file.path, file]));

  const listed = new Set(status.entries.map(({ path }) => path));
  // If HEAD has not moved, a file that is missing in the status differs only in its modification time.
  const isReal = (path: string) => status.head !== before.head || listed.has(path);

  const known = { wasDirty: false, isUntracked: false };
  const fromClean = [...tracked.values()]
    .filter(({ path }) => !dirty.has(path) && isReal(path))
    .map(change => ({ ...change, ...known }));
  const added = [...untracked]
    .filter(path => !dirty.has(path) && !tracked.has(path))
    .map(path => ({ path, status: 'A' as const, wasDirty: false, isUntracked: true, lines: null }));
  const again = await eachOf(before.dirty, file => changedAgain(git.folder.root, file));
  const fromDirty = again
    .filter(each => each !== null)
    .map(each => ({ ...each, isUntracked: untracked.has(each.path) || !tracked.has(each.path) }));
  const all = [...fromClean, ...added, ...fromDirty];
  const files = workspace === undefined ? all : withoutTeamFiles(all, relative(git.folder.root, workspace));
  return { files, status, base, uncounted, env };
}

function hiddenNotes({ ignoreRules, keptOut: before }: WorkSnapshot, now: number): string[] {
  const more = before === null ? 0 : now - before;
  const rules = 'the ignore rules before the run are unknown: new files that they hide now are not counted';
  const files = `${more} ${more === 1 ? 'file is' : 'files are'} kept out of the folder (skip-worktree) since the run began, and not counted`;
  return [...(ignoreRules === null ? [rules] : []), ...(more > 0 ? [files] : [])];
}

function ignoringNotes(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const named = [...paths.slice(0, MAX_NAMED).map(pathText), ...(paths.length > MAX_NAMED ? ['…'] : [])].join(
    ', ',
  );
  return [
    paths.length === 1
      ? `1 new or changed .gitignore file is itself ignored (${named}): new files that it hides are not counted`
      : `${paths.length} new or changed .gitignore files are themselves ignored (${named}): new files that they hide are not counted`,
  ];
}

const emptyTree = async (git: Git): Promise<string> =>
  String(await git.run(['hash-object', '-t', 'tree', '/dev/null'])).trim();

/** Compares a dirty file with its state before the run. Null if it was not touched or has its old content again. */
async function changedAgain(
  root: string,
  before: DirtyFile,
): Promise<Omit<Difference, 'isUntracked'> | null> {
  const stat = await statWorkFile(root, before.path);
  const stamp = stat && stampOf(stat);
  if (stamp === before.stamp) return null;
  const canCompare = stat && before.hash !== null && stat.size <= MAX_HASHED_BYTES;
  if (canCompare && (await hashWorkFile(root, before.path, stat)) === before.hash) return null;
  const status = before.stamp === null ? 'A' : stamp === null ? 'D' : 'M';
  return { path: before.path, status, wasDirty: true, lines: null };
}

const MAX_COUNTED = 10_000;
const MAX_TIPS = 200;

/**
 * Commits that were made since the snapshot, that HEAD of this work tree has pointed to, and that a branch or tag
 * still contains. Older commits came from a merge or a switch of branch. Commits with a reviewer's feedback are
 * Squad's own and do not count. For a run with its own branch only commits on that branch count.
 */
export async function commitsMade(
  git: Git,
  before: WorkSnapshot,
  now: Status,
  branch?: string,
): Promise<CommitsMade> {
  const since = Math.floor(before.takenAt / 1000);
  const visited = pointedTo(await headLogSince(git.folder, before.headLogSize));
  const tips = new Set([...(now.head ? [now.head] : []), ...visited].filter(id => id !== before.head));
  if (tips.size === 0) return { count: 0, newest: [], dropped: 0, elsewhere: 0, hasFeedback: false };
  const chosen = [
    ...['--ignore-missing', '--topo-order', `--max-count=${MAX_COUNTED}`, `--max-age=${since}`, ...tips],
    ...(before.head ? ['--not', before.head] : []),
    '--',
  ];
  const format = ['-z', '--format=%h%x1f%H%x1f%ae%x1f%s', '--encoding=UTF-8', '--no-color', '--no-notes'];
  const output = await git.run(['log', ...format, '--no-show-signature', ...chosen]);
  const all = String(output)
    .split('\0')
    .filter(line => line !== '')
    .map(toCommit);
  const feedback = all.some(({ by }) => by === SQUAD_EMAIL) ? await feedbackCommits(git, chosen) : null;
  const own = all.filter(({ id }) => !feedback?.ids.has(id));
  const others = [...tips].filter(tip => tip !== now.head);
  const referenced = ['--branches', '--tags', '--remotes', ...(now.head ? [now.head] : [])];
  const dropped = await reachable(git, others, referenced);
  const kept = own.filter(({ oid }) => !dropped.has(oid));
  const away = branch === undefined ? new Set() : await reachable(git, [...tips], [`refs/heads/${branch}`]);
  const made = kept.filter(({ oid }) => !away.has(oid));
  const newest = made.slice(0, MAX_COMMITS_NAMED).map(({ id, subject }) => ({ id, subject }));
  const hasFeedback = feedback?.isOurs ?? false;
  const elsewhere = kept.length - made.length;
  return { count: made.length, newest, dropped: own.length - kept.length, elsewhere, hasFeedback };
}

type CommitsMade = NonNullable<WorkChanges['commits']> & {
  /** Number of commits that were lost by a reset, an amend or a rebase. */
  dropped: number;
  /** Number of commits on another branch than the run's own. */
  elsewhere: number;
  hasFeedback: boolean;
};

/** Commits that are reachable from `tips` and from none of `not`. Deleted refs are ignored. */
async function reachable(git: Git, tips: readonly string[], not: readonly string[]): Promise<Set<string>> {
  if (tips.length === 0) return new Set();
  const args = ['rev-list', '--ignore-missing', `--max-count=${MAX_COUNTED}`, ...tips, '--not', ...not, '--'];
  return new Set(String(await git.run(args)).split('\n'));
}

export function uncountedNotes({ dropped, elsewhere }: CommitsMade, branch: string | undefined): string[] {
  const note = (count: number, where: string) => {
    const subject =
      count === 1 ? '1 commit made during the run is' : `${count} commits made during the run are`;
    return count === 0 ? [] : [`${subject} ${where}, and not counted`];
  };
  return [
    ...note(dropped, 'on no branch any more (reset, amended or rebased)'),
    ...note(elsewhere, `not on the run's branch ${branch}`),
  ];
}

/** Notes on changes of the branch that a reader of the evidence has to know. */
export async function branchNotes(git: Git, before: WorkSnapshot, now: Status): Promise<string[]> {
  const notes: string[] = [];
  if (before.branch !== now.branch)
    notes.push(`switched from ${before.branch ?? 'a detached HEAD'} to ${now.branch ?? 'a detached HEAD'}`);
  if (!before.head || before.head === now.head) return notes;
  const isPart = now.head !== null && (await isAncestor(git, before.head, now.head));
  if (!isPart && before.branch === now.branch)
    notes.push(`history was rewritten: ${before.head.slice(0, 8)} is no longer part of it`);
  return notes;
}

function pointedTo(log: string): string[] {
  const ids = log.split('\n').map(line => /^\S+ ([0-9a-f]{40,64}) /.exec(line)?.[1] ?? '');
  return [...new Set(ids.filter(id => id !== '' && !/^0+$/.test(id)))].slice(-MAX_TIPS);
}

function toCommit(line: string): { id: string; oid: string; by: string; subject: string } {
  const [id = '', oid = '', by = '', subject = ''] = line.split('\x1f');
  return { id, oid, by, subject: subject.slice(0, 200).toWellFormed() };
}
