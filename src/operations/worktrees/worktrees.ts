import { z } from 'zod';
import { type Removal, WorktreeState } from '../../core/ports/worktrees.ts';
import { judgeWorktree, removalEvent } from '../../core/worktrees/removal.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, RunStatus } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { Worktree } from '../../schema/worktree.ts';
import { operation, type Services, type UserServices } from '../operation.ts';
import { currentRun, findRun } from '../runs/find-runs.ts';

export interface TreeRun {
  run: Run;
  worktree: Worktree;
  /** Name of the repository. If the repository is gone, path of the folder that the work tree was forked from. */
  repository: string;
}

const ALL_RUNS = 1_000_000;

/**
 * Runs with a work tree of the repository that contains this folder, whichever checkout they were started from. For a
 * folder outside any repository, runs that were started there. Newest first.
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

interface KnownWorktree {
  worktree: Worktree;
  /** Runs that use the work tree, first the one it was created for. */
  runs: Run[];
}

/**
 * Known work trees, newest first: those that exist, are needed again, or were deleted by somebody else. With `folder`
 * only those of its repository.
 */
async function knownWorktrees(services: UserServices, folder?: string): Promise<KnownWorktree[]> {
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

/** The run's work tree, if `knownWorktrees` would list it. Null if the run has none, or has none any more. */
export async function knownWorktreeOf(services: UserServices, run: Run): Promise<KnownWorktree | null> {
  const { worktree, lineageId } = run;
  if (worktree === null) return null;
  // A reply continues in the work tree of the previous run, and has the same lineage.
  const rows = await services.store.runs({ lineageId, hasWorktree: true, limit: ALL_RUNS });
  const sharing = rows.filter(each => each.worktree?.path === worktree.path).toReversed();
  const runs = await Promise.all(sharing.map(row => currentRun(services, row)));
  const isThere = async () => (await services.worktrees.strays([])).includes(worktree.path);
  const isKnown =
    runs.some(({ status }) => !isEnd(status)) || (await isThere()) || (await wasMade(services, runs));
  return isKnown ? { worktree, runs } : null;
}

/** Folders that belong to no run and to no open intent. */
async function unknownFolders({ store, worktrees }: UserServices): Promise<string[]> {
  const [rows, intents] = await Promise.all([
    store.runs({ hasWorktree: true, limit: ALL_RUNS }),
    store.intents(),
  ]);
  const trees = intents.flatMap(intent => Object.values(intent)).filter(isWorktree);
  return worktrees.strays([...rows.map(run => run.worktree!), ...trees]);
}

/** Whether the last event about the work tree is its creation, not its removal. */
async function wasMade({ store }: UserServices, runs: Run[]): Promise<boolean> {
  const types = ['worktree.made', 'worktree.removed'] as const;
  const last = await Promise.all(
    runs.map(({ id: runId }) => store.events({ runId, types: [...types], reverse: true, limit: 1 })),
  );
  return last.flat().toSorted((one, other) => other.seq - one.seq)[0]?.body.type === 'worktree.made';
}

const isWorktree = (value: unknown): value is Worktree =>
  typeof value === 'object' && value !== null && 'path' in value && 'branch' in value;

/** Number of work trees to inspect at once. Each needs several git processes. */
const AT_ONCE = 4;

export const ListedWorktree = z.object({
  ...Worktree.shape,
  /** Runs that use the work tree, first the one it was created for. */
  runs: z.array(
    z.object({ id: RunId, name: z.string(), status: z.enum([...RunStatus.options, 'needs_you']) }),
  ),
  ...WorktreeState.omit({ error: true }).shape,
  trouble: z.string().nullable(),
  /** Disk usage in bytes. Null unless requested. */
  bytes: z.number().nullable(),
  /** Decision of pruning about the work tree, and the reason. */
  prune: z.enum(['remove', 'keep']),
  why: z.string(),
});
export type ListedWorktree = z.infer<typeof ListedWorktree>;

export const listWorktrees = operation({
  name: 'list_worktrees',
  route: 'GET /worktrees',
  input: z.strictObject({ workspace: z.string().optional(), disk: z.boolean().default(false) }),
  output: z.object({
    worktrees: z.array(ListedWorktree),
    /** Folders at the place of work trees that belong to no known run. */
    strays: z.array(z.string()),
  }),
  async run({ services }, { workspace, disk }) {
    const known = await knownWorktrees(services, workspace);
    const worktrees: ListedWorktree[] = [];
    for (let at = 0; at < known.length; at += AT_ONCE)
      worktrees.push(
        ...(await Promise.all(known.slice(at, at + AT_ONCE).map(each => listed(services, each, disk)))),
      );
    return { worktrees, strays: await unknownFolders(services) };
  },
});

async function listed(
  { worktrees }: Services,
  { worktree, runs }: KnownWorktree,
  disk: boolean,
): Promise<ListedWorktree> {
  const [state, bytes] = await Promise.all([
    worktrees.state(worktree),
    disk ? worktrees.bytes(worktree) : null,
  ]);
  const { error, ...shown } = state;
  return {
    ...worktree,
    runs: runs.map(run => ({ id: run.id, name: runName(run), status: shownStatus(run) })),
    ...shown,
    trouble: error,
    bytes,
    ...judgeWorktree({ worktree, runs, state, isNamed: false }),
  };
}

/** Removes a work tree unless a run is running in it, and records the result. */
export async function removeWorktree(
  services: UserServices,
  { worktree, runs }: KnownWorktree,
  saveLarge = false,
): Promise<Removal> {
  const { runner, worktrees, store, clock } = services;
  const live = runner.liveRuns().find(run => run.worktree?.path === worktree.path);
  // A reply may have started in the work tree since the state was read.
  if (live) return { outcome: 'kept', why: `${live.id} is running in it` };
  const removal = await worktrees.remove(worktree, { dropEmptyBranch: true, saveLarge });
  const { id: runId, squadId } = runs[0]!;
  await store.commit({
    events: [{ at: clock.now(), runId, squadId, body: removalEvent(worktree, removal) }],
  });
  return removal;
}

const Pruned = z.object({
  path: z.string(),
  branch: z.string(),
  runIds: z.array(RunId),
  removed: z.boolean(),
  why: z.string(),
  /** Ref with the uncommitted work. Null if there was none. */
  savedRef: z.string().nullable(),
  branchIsGone: z.boolean(),
});
type Pruned = z.infer<typeof Pruned>;

/** Removes work trees without unmerged work, and those of named runs. Branches with commits always stay. */
export const pruneWorktrees = operation({
  name: 'prune_worktrees',
  route: 'POST /worktrees/prune',
  input: z.strictObject({
    workspace: z.string().optional(),
    /** Remove only the work trees of these runs, whatever they contain. */
    ids: z.array(z.string().min(1)).max(1000).optional(),
    dryRun: z.boolean().default(false),
    /** Copy large uncommitted files into the repository, instead of keeping their work tree. */
    saveLarge: z.boolean().default(false),
  }),
  output: z.object({
    /** On a dry run, `removed` means that the work tree would be removed. */
    worktrees: z.array(Pruned),
    dryRun: z.boolean(),
  }),
  async run({ services, signal, progress }, { workspace, ids, dryRun, saveLarge }) {
    const named = ids && (await namedPaths(services, ids));
    const known = await knownWorktrees(services, named ? undefined : workspace);
    const wanted = named ? known.filter(({ worktree }) => named.has(worktree.path)) : known;
    const worktrees: Pruned[] = [];
    for (const each of wanted) {
      if (signal.aborted) break;
      worktrees.push(await pruned(services, each, { isNamed: named !== undefined, dryRun, saveLarge }));
      await progress(`Checked ${worktrees.length} of ${wanted.length} work trees`);
    }
    return { worktrees, dryRun };
  },
});

async function namedPaths(services: UserServices, ids: string[]): Promise<Set<string>> {
  const paths = new Set<string>();
  for (const id of ids) {
    const run = await findRun(services, id);
    if (!run.worktree)
      throw new SquadError('INVALID_INPUT', `Run ${run.id} has no work tree of its own.`, {
        suggestions: ['`squad worktrees` lists all work trees.'],
      });
    paths.add(run.worktree.path);
  }
  return paths;
}

async function pruned(
  services: UserServices,
  known: KnownWorktree,
  { isNamed, dryRun, saveLarge }: { isNamed: boolean; dryRun: boolean; saveLarge: boolean },
): Promise<Pruned> {
  const { worktree, runs } = known;
  const { path, branch } = worktree;
  const state = await services.worktrees.state(worktree);
  const verdict = judgeWorktree({ worktree, runs, state, isNamed, saveLarge });
  const shown = { path, branch, runIds: runs.map(({ id }) => id), savedRef: null, branchIsGone: false };
  if (verdict.prune === 'keep' || dryRun)
    return { ...shown, removed: verdict.prune === 'remove', why: verdict.why };
  const removal = await removeWorktree(services, known, saveLarge);
  if (removal.outcome === 'kept') return { ...shown, removed: false, why: removal.why };
  const savedRef = removal.outcome === 'removed' ? removal.savedRef : null;
  return { ...shown, removed: true, why: verdict.why, savedRef, branchIsGone: removal.branchIsGone };
}
