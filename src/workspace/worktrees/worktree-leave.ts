import type { Worktree } from '../../schema/worktree.ts';
import { type Git, GitTrouble, openGit } from '../git/git.ts';
import { hiddenIgnoreFiles } from '../git/ignore-rules.ts';
import { moveAside, moveBack } from './discard-folder.ts';
import { withHonestIndex } from './worktree-index.ts';
import { findNested, nestedWords, unseenIn } from './worktree-nested.ts';
import type { Place } from './worktree-place.ts';
import { readyTime, type Saved, type SaveOptions, saveWork, unfinishedIn } from './worktree-save.ts';
import { submoduleWork } from './worktree-submodules.ts';
import { isBareCheckout } from './worktree-torn.ts';

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
  if (first !== undefined) throw new Kept(nestedWords(first));
  const lost = await submoduleWork({ path, gitDir, found: nested.submodules }, env);
  if (lost) throw new Kept(lost);
  const git = await openGit(path, env);
  const begun = unfinishedIn(git);
  if (begun) throw new Kept(begun);
  const unseen = await withHonestIndex(git, ({ links }) => unseenIn(path, links, nested));
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
  const aside = await moveAside(path);
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
  throw new GitTrouble('something goes on writing into it');
}
