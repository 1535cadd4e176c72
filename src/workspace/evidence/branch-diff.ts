import { FEEDBACK_FILE } from '../../schema/review.ts';
import type { WorkChanges, WorkDiff } from '../../schema/work.ts';
import { pathText } from '../files/path-text.ts';
import type { Git } from '../git/git.ts';
import { PLAIN_DIFF, trackedChanges } from '../git/tracked-changes.ts';
import { feedbackCommits, withoutReview } from '../review/feedback-commits.ts';

type BranchChanges = Pick<WorkChanges, 'files' | 'lines'>;

/** What one commit has otherwise than another, for a work tree whose folder is gone. */
export async function branchChanges(git: Git, from: string, to: string): Promise<BranchChanges> {
  const { byPath } = await trackedChanges(git, from, { tip: to });
  const all = (await isReviewed(git, from, to)) ? withoutReview([...byPath.values()]) : [...byPath.values()];
  const sum = (of: 'insertions' | 'deletions') =>
    all.reduce((total, { lines }) => total + (lines?.[of] ?? 0), 0);
  return {
    files: all
      .map(({ path, status }) => ({ path: pathText(path), status, isOutside: false }))
      .sort((a, b) => (a.path < b.path ? -1 : 1)),
    lines: { insertions: sum('insertions'), deletions: sum('deletions') },
  };
}

export async function branchDiff(git: Git, from: string, to: string, maxBytes: number): Promise<WorkDiff> {
  const args = [
    ...PLAIN_DIFF,
    '--patch',
    '--unified=3',
    '--src-prefix=a/',
    '--dst-prefix=b/',
    from,
    to,
    '--',
  ];
  const patch = await git.run(args, { maxBytes: maxBytes + 1, mayBeCut: true });
  const isTruncated = patch.length > maxBytes;
  // A cut leaves whole lines.
  const end = isTruncated ? patch.subarray(0, maxBytes).lastIndexOf(10) + 1 : patch.length;
  const text = patch.toString('utf8', 0, end);
  return { text: (await isReviewed(git, from, to)) ? withoutItsPart(text) : text, isTruncated };
}

/** Lines of a file begin with another character than the head of the next one. */
const withoutItsPart = (patch: string): string =>
  patch
    .split(/^(?=diff --git )/m)
    .filter(part => !part.startsWith(`diff --git a/${FEEDBACK_FILE} b/`))
    .join('');

/** Squad has put a reviewer's words on it. */
const isReviewed = async (git: Git, from: string, to: string): Promise<boolean> =>
  (await feedbackCommits(git, [to, '--not', from, '--'])).isOurs;
