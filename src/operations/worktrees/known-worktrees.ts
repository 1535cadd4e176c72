import { isEnd, type Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { Services, UserServices } from '../operation.ts';
import { currentRun } from '../runs/find-runs.ts';

export interface TreeRun {
  run: Run;
  worktree: Worktree;
  /** The repository's name; the folder it was forked from if the repository is gone. */
  repository: string;
}

const ALL_RUNS = 1_000_000;

/**
 * Runs with a work tree of the repository that a folder is in, whatever folder or checkout they were started from. For a folder
 * outside any repository, runs that were started there. Newest first.
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

async function runsWithTrees({
  store,
  runner,
  worktrees,
}: Pick<Services, 'store' | 'runner' | 'worktrees'>): Promise<TreeRun[]> {
  const rows = await store.runs({ hasWorktree: true, limit: ALL_RUNS });
  const names = new Map<string, string>();
  const found: TreeRun[] = [];
  for (const row of rows) {
    const run = await currentRun({ store, runner }, row);
    const worktree = run.worktree!;
    const name = names.get(worktree.repository) ?? (await worktrees.repositoryOf(worktree));
    if (name !== null) names.set(worktree.repository, name);
    found.push({ run, worktree, repository: name ?? worktree.repository });
  }
  return found;
}

export interface KnownWorktree {
  worktree: Worktree;
  /** Runs that use it, the one it was made for first. */
  runs: Run[];
}

/** Work trees of runs that exist, are needed again, or were deleted by somebody else: of the repository around a folder, or of all. Newest first. */
export async function knownWorktrees(services: UserServices, folder?: string): Promise<KnownWorktree[]> {
  const found = await (folder === undefined ? runsWithTrees(services) : runsOfRepository(services, folder));
  const byPath = Map.groupBy(
    found.map(({ run }) => run),
    run => run.worktree!.path,
  );
  const present = new Set(await services.worktrees.strays([]));
  const known: KnownWorktree[] = [];
  for (const [path, all] of byPath) {
    const owners = all.toReversed();
    const isWanted = present.has(path) || owners.some(({ status }) => !isEnd(status));
    if (isWanted || (await wasMade(services, owners)))
      known.push({ worktree: owners[0]!.worktree!, runs: owners });
  }
  return known;
}

/** The run's work tree, if it would be in that list; null: the run has none, or none any more. */
export async function knownWorktreeOf(services: UserServices, run: Run): Promise<KnownWorktree | null> {
  const { worktree, lineageId } = run;
  if (worktree === null) return null;
  // A reply continues in the work tree of the run before, and shares its lineage.
  const rows = await services.store.runs({ lineageId, hasWorktree: true, limit: ALL_RUNS });
  const sharing = rows.filter(each => each.worktree?.path === worktree.path).toReversed();
  const runs = await Promise.all(sharing.map(row => currentRun(services, row)));
  const isThere = async () => (await services.worktrees.strays([])).includes(worktree.path);
  const isKnown =
    runs.some(({ status }) => !isEnd(status)) || (await isThere()) || (await wasMade(services, runs));
  return isKnown ? { worktree, runs } : null;
}

/** Folders that belong to no run and no open intent. */
export async function unknownFolders({ store, worktrees }: UserServices): Promise<string[]> {
  const [rows, intents] = await Promise.all([
    store.runs({ hasWorktree: true, limit: ALL_RUNS }),
    store.intents(),
  ]);
  const trees = intents.flatMap(intent => Object.values(intent)).filter(isWorktree);
  return worktrees.strays([...rows.map(run => run.worktree!), ...trees]);
}

/** Whether its last event says that it was made, not that it was removed. */
async function wasMade({ store }: UserServices, runs: Run[]): Promise<boolean> {
  const types = ['worktree.made', 'worktree.removed'] as const;
  const last = await Promise.all(
    runs.map(({ id: runId }) => store.events({ runId, types: [...types], reverse: true, limit: 1 })),
  );
  return last.flat().toSorted((one, other) => other.seq - one.seq)[0]?.body.type === 'worktree.made';
}

const isWorktree = (value: unknown): value is Worktree =>
  typeof value === 'object' && value !== null && 'path' in value && 'branch' in value;
