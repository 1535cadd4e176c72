import type { Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { Services } from '../operation.ts';
import { asItIsNow } from '../runs/find.ts';

export interface TreeRun {
  run: Run;
  worktree: Worktree;
  /** What names its repository; the folder it was forked from, where that is gone. */
  repository: string;
}

const EVERY = 1_000_000;

/**
 * Runs with a work tree of the repository that a folder is in, in whatever folder or checkout of it they were asked for.
 * Of a folder in no repository, those that were asked for there. Newest first.
 */
export async function runsOfRepository(
  services: Pick<Services, 'store' | 'runner' | 'worktrees'>,
  folder: string,
): Promise<TreeRun[]> {
  const here = await services.worktrees.checkout(folder);
  const all = await runsWithTrees(services);
  return here
    ? all.filter(({ repository }) => repository === here.repository)
    : all.filter(({ run }) => run.workspace === folder);
}

/** Of all repositories. */
export async function runsWithTrees({
  store,
  runner,
  worktrees,
}: Pick<Services, 'store' | 'runner' | 'worktrees'>): Promise<TreeRun[]> {
  const rows = await store.runs({ hasWorktree: true, limit: EVERY });
  const names = new Map<string, string>();
  const found: TreeRun[] = [];
  for (const row of rows) {
    const run = await asItIsNow({ store, runner }, row);
    const worktree = run.worktree!;
    const name = names.get(worktree.repository) ?? (await worktrees.repositoryOf(worktree));
    if (name !== null) names.set(worktree.repository, name);
    found.push({ run, worktree, repository: name ?? worktree.repository });
  }
  return found;
}
