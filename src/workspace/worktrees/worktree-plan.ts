import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { PlannedWorktree, WorktreeAsk } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { nearestReal } from '../files/nearest-real.ts';
import { isInside } from '../files/real-place.ts';
import { branchOf, folderFor } from '../files/worktree-name.ts';
import { type Git, openGit } from '../git/git.ts';
import { findGitFolder } from '../git/git-folder.ts';
import { gitFailure } from '../git/git-patience.ts';
import { readStatus } from '../git/git-status.ts';
import { withoutTeamFiles } from '../team/team-file.ts';
import { treeNotes, uncommittedNote } from './worktree-notes.ts';
import { noCommits, noRepository, refuseTaken } from './worktree-refusals.ts';
import { usersRoot } from './worktree-repository.ts';

/** A big repository that nobody has looked at for a while. */
const STATUS_MS = 60_000;

type Environment = Record<string, string | undefined>;

/** What a work tree for this run would be. Changes nothing. */
export async function planWorktree(
  folder: string,
  env: Environment,
  ask: WorktreeAsk,
): Promise<PlannedWorktree> {
  const directory = await nearestReal(ask.directory);
  const around = ask.from?.repository ?? directory;
  if (!(await findGitFolder(around))) throw await noRepository(around);
  try {
    const git = await openGit(around, env);
    return await (ask.from ? planFork : planFresh)(git, await nearestReal(folder), { ...ask, directory });
  } catch (trouble) {
    throw gitFailure(`No work tree can be made of ${around}`, trouble);
  }
}

/** Of what is checked out where the caller is. */
async function planFresh(git: Git, folder: string, ask: WorktreeAsk): Promise<PlannedWorktree> {
  const { root, commonDir } = git.folder;
  const inside = relative(root, ask.directory);
  const [status, refs, isKnown] = await Promise.all([
    readStatus(git, { limitMs: STATUS_MS }),
    branchTips(git, 'squad'),
    inside === '' ? true : hasFolder(git, 'HEAD', inside).catch(() => true),
  ]);
  if (status.head === null) throw noCommits(root);
  const workspace = await nearestReal(ask.workspace);
  const repository = usersRoot(git.folder, folder);
  const worktree: Worktree = {
    ...(await placed(git, folder, ask)),
    ...{ repository, base: status.head, baseBranch: status.branch },
    workspace: '',
  };
  worktree.workspace = isInside(root, workspace)
    ? join(worktree.path, relative(root, workspace))
    : worktree.path;
  refuseTaken(worktree.branch, refs, commonDir);
  return {
    worktree,
    directory: join(worktree.path, inside),
    notes: [
      ...uncommittedNote(withoutTeamFiles(status.entries, relative(root, workspace)).length),
      ...(await treeNotes(git, status.head)),
      ...(isKnown ? [] : [`${inside} is not committed: it is an empty folder in the work tree.`]),
    ],
  };
}

/** Of another work tree's branch, as far as that is committed. */
async function planFork(git: Git, folder: string, ask: WorktreeAsk): Promise<PlannedWorktree> {
  const from = ask.from!;
  const refs = await branchTips(git, 'squad', from.branch);
  const base = refs.get(from.branch);
  if (!base)
    throw new SquadError('GIT_FAILED', `The branch ${from.branch} is gone, so there is nothing to fork.`, {
      suggestions: [`\`git branch -a\` in ${from.repository} shows the branches there are.`],
    });
  const place = await placed(git, folder, ask);
  const workspace =
    inFork(from, place.path, ask.workspace) ?? join(place.path, relative(from.path, from.workspace));
  const directory = inFork(from, place.path, ask.directory) ?? workspace;
  const inside = relative(place.path, directory);
  refuseTaken(place.branch, refs, git.folder.commonDir);
  const isKnown = inside === '' || (await hasFolder(git, base, inside));
  return {
    worktree: { ...place, repository: from.repository, base, baseBranch: from.branch, workspace },
    directory,
    notes: [
      ...(await treeNotes(git, base)),
      ...(isKnown ? [] : [`${inside} is not committed: it is an empty folder in the work tree.`]),
    ],
  };
}

const placed = async ({ folder: { commonDir } }: Git, folder: string, { name, runId }: WorktreeAsk) => ({
  path: join(folderFor(folder, await realpath(commonDir)), runId),
  branch: branchOf(name, runId),
});

/** A path in the other work tree, or in the repository it came of, as it is in the fork of it. */
function inFork({ path, repository }: Worktree, fork: string, place: string): string | null {
  const root = [path, repository].find(each => isInside(each, place));
  return root === undefined ? null : join(fork, relative(root, place));
}

/** Tips of the branches of these names, and of those below them. */
async function branchTips(git: Git, ...names: string[]): Promise<Map<string, string>> {
  const patterns = names.map(name => `refs/heads/${name}`);
  const list = String(
    await git.run(['for-each-ref', '--format=%(objectname) %(refname:lstrip=2)', ...patterns]),
  );
  return new Map(
    list.split('\n').flatMap(line => {
      const at = line.indexOf(' ');
      return at < 0 ? [] : [[line.slice(at + 1), line.slice(0, at)] as const];
    }),
  );
}

async function hasFolder(git: Git, commit: string, path: string): Promise<boolean> {
  return (await git.run(['ls-tree', '-d', '--name-only', '-z', commit, '--', path])).length > 0;
}
