import { rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Removal, RemoveOptions } from '../../core/ports/worktrees.ts';
import { ownProgramsOver } from '../../process/programs/run-program.ts';
import { strangersIn } from '../../process/table/processes-in.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { branchTip, isAncestor } from '../git/commits.ts';
import { type Git, GitError, openGit } from '../git/git.ts';
import { deleteTrash } from './discard-folder.ts';
import { dropRecord, type WorktreeTools } from './ensure-worktree.ts';
import { Kept, moveAway, saveBefore } from './removal-checks.ts';
import type { SaveOptions } from './save-work.ts';
import { endSetUp } from './setup-worktree.ts';
import {
  describeLock,
  inspectPlace,
  type Repository,
  registeredGitDir,
  repositoryOf,
} from './worktree-place.ts';

/** Saves work, then renames the folder away, then lets git forget it. In doubt the work tree stays. */
export async function removeWorktree(
  worktree: Worktree,
  tools: WorktreeTools,
  { dropEmptyBranch, saveLarge = false }: RemoveOptions,
): Promise<Removal> {
  try {
    const repository = await repositoryOf(worktree, tools.env);
    if (!repository) return await withoutRepository(worktree);
    const removal = await tools.queue.run(repository.commonDir, async () => {
      const { savedRef, wasThere } = await takeAway(worktree, repository, tools, { saveLarge });
      const branchIsGone = dropEmptyBranch && (await dropBranch(repository.git, worktree));
      return wasThere
        ? ({ outcome: 'removed', savedRef, branchIsGone } as const)
        : ({ outcome: 'gone', branchIsGone } as const);
    });
    await deleteTrash(dirname(worktree.path));
    return removal;
  } catch (error) {
    if (error instanceof Kept || error instanceof GitError) return { outcome: 'kept', why: error.message };
    const { code, message } = error as NodeJS.ErrnoException;
    return { outcome: 'kept', why: `it cannot be read (${code ?? message})` };
  }
}

async function takeAway(
  worktree: Worktree,
  repository: Repository,
  tools: WorktreeTools,
  how: SaveOptions,
): Promise<{ savedRef: string | null; wasThere: boolean }> {
  const { path } = worktree;
  const place = await inspectPlace(path, repository.commonDir);
  if (place.kind === 'foreign') throw new Kept(place.why);
  if (place.kind === 'missing' || place.kind === 'empty') {
    const left = await registeredGitDir(repository.commonDir, path);
    if (left) await refuseIfLocked(left, path);
    if (place.kind === 'empty') await rmdir(path);
    await dropRecord(repository.git, repository.commonDir, path);
    return { savedRef: null, wasThere: false };
  }
  if (place.kind === 'unready') await endSetUp(tools.table, worktree);
  await refuseIfLocked(place.gitDir, path);
  await refuseIfOccupied(path);
  const saved = await saveBefore(worktree, place, tools.env, how);
  // Its own folder is about to go.
  const git =
    repository.git.folder.root === path ? await openGit(repository.commonDir, tools.env) : repository.git;
  await refuseIfOccupied(path);
  const savedRef = await moveAway(worktree, saved, tools.env, how);
  // From here on it is gone, whatever happens; git's record of it does no harm and goes the next time.
  await dropRecord(git, repository.commonDir, path).catch(() => {});
  return { savedRef, wasThere: true };
}

async function refuseIfLocked(gitDir: string, path: string): Promise<void> {
  const lock = await describeLock(gitDir, path);
  if (lock) throw new Kept(lock);
}

async function refuseIfOccupied(path: string): Promise<void> {
  // Let requests for its changes finish.
  await ownProgramsOver(path);
  const [first, ...more] = strangersIn(path) ?? [];
  if (!first) return;
  const others = more.length > 0 ? ` and ${more.length} more` : '';
  throw new Kept(`a process is running in it: ${first.command} (${first.pid})${others}`);
}

/** Deletes a branch without commits of its own, unless somebody has it checked out. */
async function dropBranch(git: Git, { branch, base }: Worktree): Promise<boolean> {
  const tip = await branchTip(git, branch);
  if (tip === null) return true;
  if (!(await isAncestor(git, tip, base))) return false;
  return git.run(['branch', '-D', '--quiet', branch]).then(
    () => true,
    () => false, // checked out somewhere else
  );
}

async function withoutRepository({ path, repository }: Worktree): Promise<Removal> {
  const place = await inspectPlace(path, null);
  if (place.kind === 'missing') return { outcome: 'gone', branchIsGone: true };
  throw new Kept(`its repository ${repository} is gone, so its content is unknown`);
}
