import { readdir } from 'node:fs/promises';
import { type Git, openGit } from '../git/git.ts';
import { listed, unlessSaid } from '../git/index-files.ts';
import { withHonestIndex } from './worktree-index.ts';
import { findNested } from './worktree-nested.ts';

const LIMIT_MS = 300_000;

/** Whether a work tree that git was cut off in has nothing but files of the commit it was to have. */
export async function isBareCheckout(
  { path, base }: { path: string; base: string },
  gitDir: string,
  env: Record<string, string | undefined>,
): Promise<boolean> {
  // Git may have been cut off so early that it cannot read it itself.
  if ((await readdir(path)).every(name => name === '.git')) return true;
  const { repositories, submodules } = await findNested(path, gitDir);
  if (repositories.length + submodules.length > 0) return false;
  return isAsCommitted(await openGit(path, env), base);
}

const isAsCommitted = (git: Git, base: string): Promise<boolean> =>
  withHonestIndex(
    git,
    async ({ index }) => {
      const names = async (...args: string[]) => listed(await index.run(args, undefined, LIMIT_MS));
      await index.run(['update-index', '-q', '--refresh'], undefined, LIMIT_MS).catch(unlessSaid);
      // Files that are not there yet do not count.
      const changed = await names(
        'diff-files',
        '--name-only',
        '-z',
        '--ignore-submodules=all',
        '--diff-filter=d',
      );
      const added = await names('ls-files', '--others', '--exclude-standard', '-z');
      return changed.size + added.size === 0;
    },
    base,
  );
