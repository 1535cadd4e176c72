import { FEEDBACK_FILE } from '../../schema/review.ts';
import { COMMITTER, entryAt, outputLine, SQUAD_EMAIL } from '../git/commits.ts';
import type { Git } from '../git/git.ts';
import { withScratchIndex } from '../git/git-index.ts';

interface FeedbackCommits {
  /** Short ids of commits that change only the feedback file. */
  ids: ReadonlySet<string>;
  /** True if Squad wrote or removed the file, so that it is nobody else's work. */
  isOurs: boolean;
}

/**
 * Finds the commits in which Squad wrote or removed feedback. `chosen` are arguments of `git log` that select the
 * commits.
 */
export async function feedbackCommits(git: Git, chosen: string[]): Promise<FeedbackCommits> {
  const format = [
    ...['-z', '--format=%x1e%h', '--name-only'],
    ...['--no-renames', '--no-color', '--no-show-signature'],
  ];
  const output = await git.run(['log', ...format, '--fixed-strings', `--author=<${SQUAD_EMAIL}>`, ...chosen]);
  const commits = output.toString('latin1').split('\x1e').slice(1).map(toCommit);
  const touching = commits.filter(({ paths }) => paths.includes(FEEDBACK_FILE));
  const only = touching.filter(({ paths }) => paths.length === 1);
  return { ids: new Set(only.map(({ id }) => id)), isOurs: only.length > 0 };
}

/** Removes the feedback file from a list, because a reviewer's feedback is not the work of the reviewed run. */
export const withoutReview = <F extends { path: string }>(files: readonly F[]): F[] =>
  files.filter(({ path }) => path !== FEEDBACK_FILE);

function toCommit(text: string): { id: string; paths: string[] } {
  const [id = '', ...paths] = text.split('\0').map(part => part.trim());
  return { id, paths: paths.filter(path => path !== '') };
}

/**
 * Creates a commit to merge instead of the tip. In it the feedback file is as before the branch, because feedback was
 * only for the author, and two branches with feedback would conflict.
 */
export async function withoutFeedback(git: Git, onto: string, tip: string): Promise<string> {
  const now = await entryAt(git, tip, FEEDBACK_FILE);
  if (now === null) return tip;
  const base = outputLine(await git.run(['merge-base', onto, tip], { codes: [1], env: COMMITTER }));
  const before = base === '' ? null : await entryAt(git, base, FEEDBACK_FILE);
  if (before?.oid === now.oid) return tip;
  return withScratchIndex(git, async index => {
    await index.run(['read-tree', tip]);
    await index.set([[FEEDBACK_FILE, before]]);
    return index.commit(tip, `Leave ${FEEDBACK_FILE} out`);
  });
}
