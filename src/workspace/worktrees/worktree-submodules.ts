import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openGit } from '../git/git.ts';
import { readStatus } from '../git/git-status.ts';
import { withHonestIndex } from './worktree-index.ts';

/**
 * A submodule that was checked out in a work tree has its repository in the work tree's own git folder, and goes with it.
 * Why that would lose something; null: all of it is on the submodule's remotes, or there is none. `found` are those that are
 * checked out, one character for each byte.
 */
export async function submoduleWork(
  { path, gitDir, found }: { path: string; gitDir: string; found: readonly string[] },
  env: Record<string, string | undefined>,
): Promise<string | null> {
  const kept = await repositoriesIn(join(gitDir, 'modules'));
  const roots = found.map(root => Buffer.from(root, 'latin1').toString());
  if (roots.length !== kept) return 'it has submodules of its own that cannot be looked at';
  for (const root of roots) {
    const git = await openGit(join(path, root), env);
    const isElsewhere = git.folder.root !== join(path, root);
    if (isElsewhere || (await repositoriesIn(join(git.folder.gitDir, 'modules'))) > 0)
      return `its submodule ${root} has submodules of its own`;
    const { entries } = await withHonestIndex(git, ({ index: { file } }) =>
      readStatus(git, { env: { GIT_INDEX_FILE: file } }),
    );
    if (entries.length > 0) return `its submodule ${root} has changes that are not committed`;
    const own = await git.run(['rev-list', '-n', '1', '--all', '--reflog', 'HEAD', '--not', '--remotes']);
    if (own.length > 0) return `its submodule ${root} has commits that are on none of its remotes`;
  }
  return null;
}

/** How many there are: a submodule's name may have slashes in it. */
async function repositoriesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  if (entries.some(({ name }) => name === 'HEAD')) return 1;
  const folders = entries.filter(entry => entry.isDirectory());
  const counts = await Promise.all(folders.map(({ name }) => repositoriesIn(join(folder, name))));
  return counts.reduce((sum, count) => sum + count, 0);
}
