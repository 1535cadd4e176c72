import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FEEDBACK_FILE } from '../schema/review.ts';
import type { Git } from './git.ts';

interface Sides {
  onto: string;
  tip: string;
}

/**
 * A branch as it is to be merged: a reviewer's words were for its author, so that file is as it was before the branch.
 * Two branches that both have one would conflict otherwise.
 */
export async function withoutFeedback(
  git: Git,
  { onto, tip }: Sides,
  identity: Record<string, string>,
): Promise<string> {
  const now = await entryOf(git, tip);
  if (now === null) return tip;
  const base = String(await git.run(['merge-base', onto, tip], { codes: [1] })).trim();
  const before = base === '' ? null : await entryOf(git, base);
  if (before === now) return tip;
  const index = join(git.folder.gitDir, `squad-${randomUUID()}.index`);
  const how = { env: { GIT_INDEX_FILE: index } };
  try {
    await git.run(['read-tree', tip], how);
    const change = before === null ? ['--force-remove', FEEDBACK_FILE] : ['--add', '--cacheinfo', before];
    await git.run(['update-index', ...change], how);
    const tree = String(await git.run(['write-tree'], how)).trim();
    const commit = ['commit-tree', '-p', tip, '-m', `Leave ${FEEDBACK_FILE} out`, tree];
    return String(await git.run(commit, { env: identity })).trim();
  } finally {
    await rm(index, { force: true });
  }
}

/** As `update-index --cacheinfo` takes it; null where there is no such file. */
async function entryOf(git: Git, commit: string): Promise<string | null> {
  const line = String(await git.run(['ls-tree', commit, '--', FEEDBACK_FILE]));
  const [, mode, oid] = /^(\d+) blob ([0-9a-f]+)\t/.exec(line) ?? [];
  return mode ? `${mode},${oid},${FEEDBACK_FILE}` : null;
}
