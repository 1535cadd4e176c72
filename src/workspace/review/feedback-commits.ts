import { FEEDBACK_FILE } from '../../schema/review.ts';
import { COMMITTER, entryAt, outputLine, SQUAD_EMAIL } from '../git/commits.ts';
import type { Git } from '../git/git.ts';
import { withScratchIndex } from '../git/git-index.ts';

interface FeedbackCommits {
  /** Those that hold nothing but the feedback file, by their short ids. */
  ids: ReadonlySet<string>;
  /** Squad has put the file there, or taken it away: it is nobody else's work. */
  isOurs: boolean;
}

/** Of the commits that these arguments of `git log` choose, those with which Squad gave feedback or took it out again. */
export async function feedbackCommits(git: Git, chosen: string[]): Promise<FeedbackCommits> {
  const format = [
    '-z',
    '--format=%x1e%h',
    '--name-only',
    '--no-renames',
    '--no-color',
    '--no-show-signature',
  ];
  const output = await git.run(['log', ...format, '--fixed-strings', `--author=<${SQUAD_EMAIL}>`, ...chosen]);
  const commits = output.toString('latin1').split('\x1e').slice(1).map(toCommit);
  const touching = commits.filter(({ paths }) => paths.includes(FEEDBACK_FILE));
  const only = touching.filter(({ paths }) => paths.length === 1);
  return { ids: new Set(only.map(({ id }) => id)), isOurs: only.length > 0 };
}

/** A reviewer's words are not the work of the run they were for. */
export const withoutReview = <F extends { path: string }>(files: readonly F[]): F[] =>
  files.filter(({ path }) => path !== FEEDBACK_FILE);

function toCommit(text: string): { id: string; paths: string[] } {
  const [id = '', ...paths] = text.split('\0').map(part => part.trim());
  return { id, paths: paths.filter(path => path !== '') };
}

/**
 * A branch as it is to be merged: a reviewer's words were for its author, so that file is as it was before the branch.
 * Two branches that both have one would conflict otherwise.
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
