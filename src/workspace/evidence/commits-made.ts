import { MOST_COMMITS_NAMED } from '../../schema/evidence.ts';
import type { WorkChanges, WorkSnapshot } from '../../schema/work.ts';
import type { Git } from '../git/git.ts';
import { headLogSince } from '../git/git-folder.ts';
import type { Status } from '../git/git-status.ts';
import { feedbackCommits } from '../review/feedback-commits.ts';
import { EMAIL } from '../worktrees/branch-commit.ts';

const MOST_COUNTED = 10_000;
const MOST_TIPS = 200;

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
    ...['--ignore-missing', '--topo-order', `--max-count=${MOST_COUNTED}`, `--max-age=${since}`, ...tips],
    ...(before.head ? ['--not', before.head] : []),
    '--',
  ];
  const format = ['-z', '--format=%h%x1f%H%x1f%ae%x1f%s', '--encoding=UTF-8', '--no-color', '--no-notes'];
  const output = await git.run(['log', ...format, '--no-show-signature', ...chosen]);
  const all = String(output)
    .split('\0')
    .filter(line => line !== '')
    .map(toCommit);
  const feedback = all.some(({ by }) => by === EMAIL) ? await feedbackCommits(git, chosen) : null;
  const own = all.filter(({ id }) => !feedback?.ids.has(id));
  const dropped = await droppedFrom(git, tips, now.head);
  const kept = own.filter(({ oid }) => !dropped.has(oid));
  const away = branch === undefined ? new Set() : await notOn(git, tips, branch);
  const made = kept.filter(({ oid }) => !away.has(oid));
  const newest = made.slice(0, MOST_COMMITS_NAMED).map(({ id, subject }) => ({ id, subject }));
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
  const args = ['rev-list', '--ignore-missing', `--max-count=${MOST_COUNTED}`, ...others, '--not', ...kept];
  return new Set(String(await git.run([...args, '--'])).split('\n'));
}

/** Of the commits that these tips lead to, those that this branch does not lead to; all of them when it is gone. */
async function notOn(git: Git, tips: ReadonlySet<string>, branch: string): Promise<Set<string>> {
  const args = ['rev-list', '--ignore-missing', `--max-count=${MOST_COUNTED}`, ...tips];
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
  return [...new Set(ids.filter(id => id !== '' && !/^0+$/.test(id)))].slice(-MOST_TIPS);
}

function toCommit(line: string): { id: string; oid: string; by: string; subject: string } {
  const [id = '', oid = '', by = '', subject = ''] = line.split('\x1f');
  return { id, oid, by, subject: subject.slice(0, 200).toWellFormed() };
}
