import { rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Removal, RemoveOptions } from '../../core/ports/worktrees.ts';
import { ownProgramsOver } from '../../process/programs/run-program.ts';
import { strangersIn } from '../../process/table/processes-in.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { type Git, GitError, openGit } from '../git/git.ts';
import { deleteTrash } from './discard-folder.ts';
import { dropRecord, type WorktreeTools } from './ensure-worktree.ts';
import { Kept, leave, saveBefore } from './removal-checks.ts';
import { endSetUp } from './setup-worktree.ts';
import {
  commitsBetween,
  describeLock,
  lookAt,
  type Repository,
  registered,
  repositoryOf,
  tipsOf,
} from './worktree-place.ts';
import type { SaveOptions } from './worktree-save.ts';

/** Work is saved, then the folder goes out of the way in one step, then git forgets it. In doubt it stays. */
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
    return { outcome: 'kept', why: `it could not be looked at (${code ?? message})` };
  }
}

async function takeAway(
  worktree: Worktree,
  repository: Repository,
  tools: WorktreeTools,
  how: SaveOptions,
): Promise<{ savedRef: string | null; wasThere: boolean }> {
  const { path } = worktree;
  const place = await lookAt(path, repository.commonDir);
  if (place.kind === 'foreign') throw new Kept(place.why);
  if (place.kind === 'missing' || place.kind === 'empty') {
    const left = await registered(repository.commonDir, path);
    if (left) await refuseIfLocked(left, path);
    if (place.kind === 'empty') await rmdir(path);
    await dropRecord(repository.git, repository.commonDir, path);
    return { savedRef: null, wasThere: false };
  }
  if (place.kind === 'half') await endSetUp(tools.table, worktree);
  await refuseIfLocked(place.gitDir, path);
  await refuseIfOccupied(path);
  const saved = await saveBefore(worktree, place, tools.env, how);
  const git = await standing(repository, worktree, tools);
  await refuseIfOccupied(path);
  const savedRef = await leave(worktree, saved, tools.env, how);
  // From here on it is gone, whatever happens; what git still knows of it does no harm and goes the next time.
  await dropRecord(git, repository.commonDir, path).catch(() => {});
  return { savedRef, wasThere: true };
}

async function refuseIfLocked(gitDir: string, path: string): Promise<void> {
  const lock = await describeLock(gitDir, path);
  if (lock) throw new Kept(lock);
}

async function refuseIfOccupied(path: string): Promise<void> {
  // Who looks at its changes just now gets them.
  await ownProgramsOver(path);
  const [first, ...more] = strangersIn(path) ?? [];
  if (!first) return;
  const others = more.length > 0 ? ` and ${more.length} more` : '';
  throw new Kept(`a process is at work in it: ${first.command} (${first.pid})${others}`);
}

/** Only one that has nothing of its own, and that nobody has checked out. */
async function dropBranch(git: Git, { branch, base }: Worktree): Promise<boolean> {
  const [tip = null] = await tipsOf(git, branch);
  if (tip === null) return true;
  if ((await commitsBetween(git, base, tip)) > 0) return false;
  return git.run(['branch', '-D', '--quiet', branch]).then(
    () => true,
    () => false, // checked out somewhere else
  );
}

/** A git to call when the folder it was opened in is the one that has just gone. */
async function standing(repository: Repository, { path }: Worktree, { env }: WorktreeTools): Promise<Git> {
  return repository.git.folder.root === path ? openGit(repository.commonDir, env) : repository.git;
}

async function withoutRepository({ path, repository }: Worktree): Promise<Removal> {
  const place = await lookAt(path, null);
  if (place.kind === 'missing') return { outcome: 'gone', branchIsGone: true };
  throw new Kept(`its repository ${repository} is gone, so what it holds cannot be told`);
}
