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
import { SQUAD_EMAIL } from '../git/commits.ts';
import { type Git, GitError } from '../git/git.ts';
import { headLogSince } from '../git/git-folder.ts';
import { withHonestIndex } from '../git/git-index.ts';
import { type Status, type TrackedChange, trackedChanges } from '../git/git-status.ts';
import { hiddenIgnoreFiles, readStatusUnder } from '../git/ignore-rules.ts';
import { feedbackCommits } from '../review/feedback-commits.ts';
import { withoutTeamFiles } from '../team/team-file.ts';

/** A file that is not what it was at the snapshot. */
export interface Difference {
  path: string;
  status: ChangedFile['status'];
  /** It had uncommitted changes before, or was hidden from git: what it held then is not known. */
  wasDirty: boolean;
  /** Git has no content to compare it with. */
  isUntracked: boolean;
  /** Null for binary content and for what git cannot compare. */
  lines: TrackedChange['lines'];
}

export interface Compared {
  files: Difference[];
  status: Status;
  /** What git compares with: the commit before the run, or the empty tree when there was none. */
  base: string;
  /** Why lines could not be counted; null when they were. */
  uncounted: string | null;
  /** Where git finds the index that was compared: one in which no file is hidden. */
  env: { GIT_INDEX_FILE: string };
  /** What cannot be told from the files. */
  notes: string[];
}

const MAX_HASHED_BYTES = 4n * 1024n * 1024n;
const MAX_NAMED = 3;

/** `use` may ask git about the same index, which is gone afterwards. */
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
 * Files that were clean are compared with the commit of then, whatever became of HEAD since, so that committed or not
 * makes no difference; files that were dirty are compared with their own stamp and content of then.
 */
async function compare(
  git: Git,
  before: WorkSnapshot,
  workspace: string | undefined,
  env: Compared['env'],
): Promise<Omit<Compared, 'notes'>> {
  if (git.folder.root !== before.root) throw new GitError('the repository of then is not there any more');
  const base = before.head ?? (await emptyTree(git));
  const [status, { byPath: tracked, uncounted }] = await Promise.all([
    readStatusUnder(git, before.ignoreRules, { env }),
    trackedChanges(git, base, { env }),
  ]);
  const untracked = new Set(status.entries.filter(each => each.isUntracked).map(({ path }) => path));
  const dirty = new Map(before.dirty.map(file => [file.path, file]));

  const listed = new Set(status.entries.map(({ path }) => path));
  // While HEAD stands still, what status does not list has another date and nothing else.
  const isReal = (path: string) => status.head !== before.head || listed.has(path);

  const fromClean = [...tracked.values()]
    .filter(({ path }) => !dirty.has(path) && isReal(path))
    .map(asDifference);
  const added = [...untracked].filter(path => !dirty.has(path) && !tracked.has(path)).map(asNewFile);
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
  const rules = 'the ignore rules before the run are not known: new files that they hide now are not counted';
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

const asDifference = ({ path, status, lines }: TrackedChange): Difference => ({
  path,
  status,
  lines,
  wasDirty: false,
  isUntracked: false,
});

const asNewFile = (path: string): Difference => ({
  path,
  status: 'A',
  wasDirty: false,
  isUntracked: true,
  lines: null,
});

/** Null for one that nobody touched, or that holds again what it held. */
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
 * Commits that HEAD of this work tree has pointed to since the snapshot and that carry a date since then, if a branch or tag
 * still has them. A merge or a switch of branch brings older ones in: those were not made here. Nor were those that hold a
 * reviewer's words: Squad made them. Of a run with a branch of its own only those on that branch count.
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
  const dropped = await droppedFrom(git, tips, now.head);
  const kept = own.filter(({ oid }) => !dropped.has(oid));
  const away = branch === undefined ? new Set() : await notOn(git, tips, branch);
  const made = kept.filter(({ oid }) => !away.has(oid));
  const newest = made.slice(0, MAX_COMMITS_NAMED).map(({ id, subject }) => ({ id, subject }));
  const hasFeedback = feedback?.isOurs ?? false;
  const elsewhere = kept.length - made.length;
  return { count: made.length, newest, dropped: own.length - kept.length, elsewhere, hasFeedback };
}

type CommitsMade = NonNullable<WorkChanges['commits']> & {
  /** Made, and then reset away, amended or rebased. */
  dropped: number;
  /** Made, and kept by another branch than the run's own. */
  elsewhere: number;
  hasFeedback: boolean;
};

/** Of the commits that these tips lead to, those that neither HEAD nor a branch or tag leads to. */
async function droppedFrom(git: Git, tips: ReadonlySet<string>, head: string | null): Promise<Set<string>> {
  const others = [...tips].filter(tip => tip !== head);
  if (others.length === 0) return new Set();
  const kept = ['--branches', '--tags', '--remotes', ...(head ? [head] : [])];
  const args = ['rev-list', '--ignore-missing', `--max-count=${MAX_COUNTED}`, ...others, '--not', ...kept];
  return new Set(String(await git.run([...args, '--'])).split('\n'));
}

/** Of the commits that these tips lead to, those that this branch does not lead to; all of them when it is gone. */
async function notOn(git: Git, tips: ReadonlySet<string>, branch: string): Promise<Set<string>> {
  const args = ['rev-list', '--ignore-missing', `--max-count=${MAX_COUNTED}`, ...tips];
  return new Set(String(await git.run([...args, '--not', `refs/heads/${branch}`, '--'])).split('\n'));
}

export function elsewhereNotes(count: number, branch: string | undefined): string[] {
  if (count === 0) return [];
  const subject =
    count === 1 ? '1 commit made during the run is' : `${count} commits made during the run are`;
  return [`${subject} not on the run's branch ${branch}, and not counted`];
}

export function droppedNotes(count: number): string[] {
  if (count === 0) return [];
  const subject =
    count === 1 ? '1 commit made during the run is' : `${count} commits made during the run are`;
  return [`${subject} on no branch any more (reset, amended or rebased), and not counted`];
}

/** What became of the branch, where that changes how the rest is to be read. */
export async function branchNotes(git: Git, before: WorkSnapshot, now: Status): Promise<string[]> {
  const notes: string[] = [];
  if (before.branch !== now.branch)
    notes.push(`switched from ${before.branch ?? 'a detached HEAD'} to ${now.branch ?? 'a detached HEAD'}`);
  if (!before.head || before.head === now.head) return notes;
  const left = [
    'rev-list',
    '--count',
    '--max-count=1',
    before.head,
    ...(now.head ? ['--not', now.head] : []),
    '--',
  ];
  const isStillPart = String(await git.run(left)).trim() === '0';
  if (!isStillPart && before.branch === now.branch)
    notes.push(`history was rewritten: ${before.head.slice(0, 8)} is not part of it any more`);
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
