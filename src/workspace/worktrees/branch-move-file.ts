import type { BranchMove } from '../../schema/review.ts';
import type { Git } from '../git/git.ts';
import { COMMITTER, type Entry, entryAt, sameContent } from './branch-commit.ts';
import { entryOf } from './branch-file.ts';
import type { BranchPlace } from './branch-place.ts';
import { type FolderFile, type NewFile, readFolderFile, sameFile, stageFile } from './folder-file.ts';

/** What is to become of a file in the folder, as long as it is what was seen there. */
export interface FilePlan {
  path: string;
  seen: FolderFile;
  next: NewFile;
}

/** Null: there is nothing to do. `changed`: it holds what is in none of the commits, and so is not to be replaced. */
export async function planFile(
  { git, worktree }: BranchPlace,
  move: BranchMove,
  path: string,
  way: 'there' | 'back' = 'there',
): Promise<FilePlan | null | 'changed'> {
  const seen = await readFolderFile(worktree.path, path);
  const [before, ours, own] = await Promise.all([
    versionsBefore(git, move, path),
    entryAt(git, move.to, path),
    entryOf(git, seen, path),
  ]);
  const [becomes, replaced] = way === 'there' ? [ours, before] : [before[0]!, [ours]];
  if (own ? sameContent(own, becomes) : seen.kind === 'none' && !becomes) return null;
  if (!mayReplace(seen, own, replaced, way)) return 'changed';
  return { path, seen, next: await contentOf(git, becomes, path) };
}

/** Puts it there after the change it belongs to: false, and neither is done, when something else is there by now. */
export async function placeFile(
  { worktree }: BranchPlace,
  { path, seen, next }: FilePlan,
  change: { make(): Promise<unknown>; takeBack(): Promise<unknown> } | null,
): Promise<boolean> {
  if (!sameFile(await readFolderFile(worktree.path, path), seen)) return false;
  const staged = await stageFile(worktree.path, path, next);
  try {
    await change?.make();
    await staged.put().catch(async thrown => {
      await change?.takeBack();
      throw thrown;
    });
  } finally {
    await staged.discard();
  }
  return true;
}

function mayReplace(
  seen: FolderFile,
  own: Entry | null,
  replaced: readonly (Entry | null)[],
  way: 'there' | 'back',
): boolean {
  if (own) return replaced.some(entry => sameContent(entry, own));
  if (seen.kind === 'none') return way === 'there' || replaced.includes(null);
  return way === 'there' && (seen.kind === 'other' || (seen.kind === 'folder' && seen.isEmpty));
}

/** What was in the file before ours, the last first: as the agent had it, and as the branch had it. */
async function versionsBefore(git: Git, { from, to }: BranchMove, path: string): Promise<(Entry | null)[]> {
  const list = String(await git.run(['rev-list', '--topo-order', `${from}..${to}`], { env: COMMITTER }));
  const commits = [...list.trim().split('\n').slice(1), from];
  return Promise.all(commits.map(commit => entryAt(git, commit, path)));
}

async function contentOf(git: Git, entry: Entry | null, path: string): Promise<NewFile> {
  if (!entry) return null;
  const isLink = entry.mode === '120000';
  const how = isLink ? ['blob'] : ['--filters', `--path=${path}`];
  const bytes = await git.run(['cat-file', ...how, entry.oid], { env: COMMITTER });
  return { bytes, isLink, isExecutable: entry.mode === '100755' };
}
