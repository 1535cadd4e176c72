import { FEEDBACK_FILE } from '../../schema/review.ts';
import type { Git } from '../git/git.ts';
import { EMAIL } from '../worktrees/branch-commit.ts';

export interface FeedbackCommits {
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
  const output = await git.run(['log', ...format, '--fixed-strings', `--author=<${EMAIL}>`, ...chosen]);
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
