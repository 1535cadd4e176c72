import { FEEDBACK_FILE } from '../../schema/review.ts';
import type { Git } from '../git/git.ts';
import { COMMITTER, entryAt, line, withScratchIndex } from '../worktrees/branch-commit.ts';

/**
 * A branch as it is to be merged: a reviewer's words were for its author, so that file is as it was before the branch.
 * Two branches that both have one would conflict otherwise.
 */
export async function withoutFeedback(git: Git, onto: string, tip: string): Promise<string> {
  const now = await entryAt(git, tip, FEEDBACK_FILE);
  if (now === null) return tip;
  const base = line(await git.run(['merge-base', onto, tip], { codes: [1], env: COMMITTER }));
  const before = base === '' ? null : await entryAt(git, base, FEEDBACK_FILE);
  if (before?.oid === now.oid) return tip;
  return withScratchIndex(git, async index => {
    await index.run(['read-tree', tip]);
    await index.set([[FEEDBACK_FILE, before]]);
    return index.commit(tip, `Leave ${FEEDBACK_FILE} out`);
  });
}
