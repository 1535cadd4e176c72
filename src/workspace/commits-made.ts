import { MOST_COMMITS_NAMED } from '../schema/evidence.ts';
import type { WorkChanges, WorkSnapshot } from '../schema/work.ts';
import { EMAIL } from './branch-commit.ts';
import { feedbackCommits } from './feedback-commits.ts';
import type { Git } from './git.ts';
import { headLogSince } from './git-folder.ts';
import type { Status } from './git-status.ts';

const MOST_COUNTED = 10_000;
const MOST_TIPS = 200;

/**
 * Commits that HEAD of this work tree has pointed to since the snapshot and that carry a date since then. A merge or a
 * switch of branch brings older ones in: those were not made here. Nor were those that hold a reviewer's words: Squad made them.
 */
export async function commitsMade(
  git: Git,
  before: WorkSnapshot,
  now: Status,
): Promise<NonNullable<WorkChanges['commits']> & { hasFeedback: boolean }> {
  const since = Math.floor(before.takenAt / 1000);
  const visited = pointedTo(await headLogSince(git.folder, before.headLogSize));
  const tips = new Set([...(now.head ? [now.head] : []), ...visited].filter(id => id !== before.head));
  if (tips.size === 0) return { count: 0, newest: [], hasFeedback: false };
  const chosen = [
    ...['--ignore-missing', '--topo-order', `--max-count=${MOST_COUNTED}`, `--max-age=${since}`, ...tips],
    ...(before.head ? ['--not', before.head] : []),
    '--',
  ];
  const format = ['-z', '--format=%h%x1f%ae%x1f%s', '--encoding=UTF-8', '--no-color', '--no-notes'];
  const output = await git.run(['log', ...format, '--no-show-signature', ...chosen]);
  const all = String(output)
    .split('\0')
    .filter(line => line !== '')
    .map(toCommit);
  const feedback = all.some(({ by }) => by === EMAIL) ? await feedbackCommits(git, chosen) : null;
  const made = all.filter(({ id }) => !feedback?.ids.has(id));
  const newest = made.slice(0, MOST_COMMITS_NAMED).map(({ id, subject }) => ({ id, subject }));
  return { count: made.length, newest, hasFeedback: feedback?.isOurs ?? false };
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

function toCommit(line: string): { id: string; by: string; subject: string } {
  const [id = '', by = '', subject = ''] = line.split('\x1f');
  return { id, by, subject: subject.slice(0, 200).toWellFormed() };
}
