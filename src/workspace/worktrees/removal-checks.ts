import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worktree } from '../../schema/worktree.ts';
import { type Git, GitError, openGit } from '../git/git.ts';
import { ignoreExitOne, listed } from '../git/git-index.ts';
import { readStatus } from '../git/git-status.ts';
import { hiddenIgnoreFiles } from '../git/ignore-rules.ts';
import { moveBack, moveToTrash } from './discard-folder.ts';
import { withHonestIndex } from './worktree-index.ts';
import { describeNested, findNested, findSubmoduleContent } from './worktree-nested.ts';
import type { Place } from './worktree-place.ts';
import { readyTime, type Saved, type SaveOptions, saveWork, unfinishedIn } from './worktree-save.ts';

/**
 * A submodule that was checked out in a work tree has its repository in the work tree's own git folder, and goes with it.
 * Why that would lose something; null: all of it is on the submodule's remotes, or there is none. `found` are those that are
 * checked out, one character for each byte.
 */
async function submoduleWork(
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

const SUBMODULE_TIMEOUT_MS = 300_000;

/** Whether a work tree that git was cut off in has nothing but files of the commit it was to have. */
async function isBareCheckout(
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
      const names = async (...args: string[]) =>
        listed(await index.run(args, undefined, SUBMODULE_TIMEOUT_MS));
      await index
        .run(['update-index', '-q', '--refresh'], undefined, SUBMODULE_TIMEOUT_MS)
        .catch(ignoreExitOne);
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

/** A reason to leave a work tree as it is. */
export class Kept extends Error {}

type Environment = Record<string, string | undefined>;

/** Somebody who goes on writing is not waited for. */
const LOOKS = 3;

/** What would go with the folder is put under refs; what cannot be is a reason to keep it. Null: no agent has been in it. */
export async function saveBefore(
  worktree: Worktree,
  { kind, gitDir }: Extract<Place, { gitDir: string }>,
  env: Environment,
  how: SaveOptions,
): Promise<Saved | null> {
  if (kind === 'half') return null;
  if (kind === 'torn' && (await isBareCheckout(worktree, gitDir, env))) return null;
  const { path } = worktree;
  const nested = await findNested(path, gitDir);
  const [first] = nested.repositories;
  if (first !== undefined) throw new Kept(describeNested(first));
  const lost = await submoduleWork({ path, gitDir, found: nested.submodules }, env);
  if (lost) throw new Kept(lost);
  const git = await openGit(path, env);
  const begun = unfinishedIn(git);
  if (begun) throw new Kept(begun);
  const unseen = await withHonestIndex(git, ({ links }) => findSubmoduleContent(path, links, nested));
  if (unseen) throw new Kept(unseen);
  const [hiding] = await hiddenIgnoreFiles(git, await readyTime(gitDir));
  if (hiding !== undefined)
    throw new Kept(
      `its new file ${hiding} ignores itself and may hide work from git: look, remove that file, then try again`,
    );
  return saveWork(git, worktree, how);
}

/**
 * Out of the way, with a look at what was written until then by somebody who is not in the folder. After that nobody finds it
 * by its path. What cannot be saved goes back to where it was.
 */
export async function leave(
  worktree: Worktree,
  saved: Saved | null,
  env: Environment,
  how: SaveOptions,
): Promise<string | null> {
  const { path } = worktree;
  const aside = await moveToTrash(path);
  if (!saved) return null;
  try {
    return (await settled(worktree, saved, await openGit(aside, env), how)).ref;
  } catch (error) {
    const place = await moveBack(aside, path);
    const { message } = error as Error;
    if (place !== path) throw new Kept(`${message}; it is at ${place} now`);
    throw error;
  }
}

async function settled(worktree: Worktree, saved: Saved, git: Git, how: SaveOptions): Promise<Saved> {
  let last = saved;
  for (let look = 0; look < LOOKS; look++) {
    const now = await saveWork(git, worktree, how, last);
    if (now === last) return now;
    last = now;
  }
  throw new GitError('something goes on writing into it');
}
