import { join } from 'node:path';
import { type ScratchIndex, withScratchIndex } from '../worktrees/branch-commit.ts';
import { type Git, GitTrouble } from './git.ts';
import { copyIndex } from './index-copy.ts';

/** For work with a copy of a work tree's index, beside it: so the real one is as it was or as it is to be, and nothing between. */
export const withIndexCopy = <T>(
  git: Git,
  tip: string,
  use: (index: ScratchIndex) => Promise<T>,
): Promise<T> =>
  withScratchIndex(
    git,
    async index => {
      await copyIndex(join(git.folder.gitDir, 'index'), index, () => tip);
      return use(index);
    },
    git.folder.gitDir,
  );

/**
 * Paths, one character for each byte, whose file is not as the index has it; with `commit`, whose file or entry is not as there;
 * with `folder`, of the files in that one instead of the work tree.
 */
export async function unlike(
  index: ScratchIndex,
  { commit, folder }: { commit?: string; folder?: string } = {},
): Promise<Set<string>> {
  const options = [...THOROUGH, ...(folder === undefined ? [] : [`--work-tree=${folder}`])];
  await index
    .run([...options, 'update-index', '-q', '--refresh', '--ignore-submodules'], undefined, LIMIT_MS)
    .catch(unlessSaid);
  const list = commit === undefined ? ['diff-files'] : ['diff-index', commit];
  const how = ['--name-only', '-z', '--no-renames', '--ignore-submodules=all'];
  return listed(await index.run([...options, ...list, ...how]));
}

/** Many files that were replaced are read again. */
const LIMIT_MS = 120_000;

/** A configuration may have git overlook changes. */
const THOROUGH = ['core.ignoreStat=false', 'core.trustctime=true', 'core.checkStat=default'].flatMap(
  setting => ['-c', setting],
);

export const listed = (output: Buffer): Set<string> =>
  new Set(output.toString('latin1').split('\0').slice(0, -1));

/** By 1 git only says that not all is as the index has it. */
export function unlessSaid(trouble: unknown): void {
  if (!(trouble instanceof GitTrouble) || trouble.exitCode !== 1) throw trouble;
}
