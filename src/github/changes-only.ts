import type { Worktree } from '../schema/worktree.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';

/** More commits than Squad puts on a branch between two looks. */
const MOST_COMMITS = 100;

/**
 * Whether one commit came of another by changes of this file alone, each step of the way: what was taken back again would
 * still be in the history. Reads what is written in the commits, whatever the repository says stands in their place.
 */
export async function changesOnly(
  openGit: OpenGit,
  env: Record<string, string | undefined>,
  { repository }: Worktree,
  { from, to }: { from: string; to: string },
  path: string,
): Promise<boolean> {
  try {
    const git = await openGit(repository, env);
    let id = to;
    for (let i = 0; i < MOST_COMMITS && id !== from; i++) {
      const { tree, parents } = await commitOf(git, id);
      const [parent, ...others] = parents;
      if (!parent || others.length > 0) return false;
      const before = await commitOf(git, parent);
      if ((await changedBetween(git, before.tree, tree)).some(each => each !== path)) return false;
      id = parent;
    }
    return id === from;
  } catch (thrown) {
    throw asGitError(thrown, repository);
  }
}

async function commitOf(git: Git, id: string): Promise<{ tree: string; parents: string[] }> {
  const [head = ''] = (await read(git, ['cat-file', 'commit', id])).split('\n\n');
  const named = (key: string) =>
    head.split('\n').flatMap(line => (line.startsWith(`${key} `) ? [line.slice(key.length + 1)] : []));
  return { tree: named('tree')[0] ?? '', parents: named('parent') };
}

async function changedBetween(git: Git, before: string, after: string): Promise<string[]> {
  const options = ['-r', '-z', '--name-only', '--no-renames', '--no-ext-diff', '--ignore-submodules=none'];
  return (await read(git, ['diff-tree', ...options, before, after])).split('\0').filter(Boolean);
}

const read = async (git: Git, args: string[]): Promise<string> =>
  String(await git.run(['--no-replace-objects', ...args]));
