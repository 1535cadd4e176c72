import { z } from 'zod';
import type { Removal } from '../../core/ports/worktrees.ts';
import { judgeWorktree, removalEvent } from '../../core/worktrees/removal.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { operation, type UserServices } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';
import { type KnownWorktree, knownWorktrees } from './known-worktrees.ts';

/** Removes a work tree unless a run is running in it, and records the result. */
export async function removeWorktree(
  services: UserServices,
  { worktree, runs }: KnownWorktree,
  saveLarge = false,
): Promise<Removal> {
  const { runner, worktrees, store, clock } = services;
  const live = runner.liveRuns().find(run => run.worktree?.path === worktree.path);
  // A reply may have started since the state was read.
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
  /** Holds the work that was not committed. */
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
    /** Only the work trees of these runs, whatever they hold. */
    ids: z.array(z.string().min(1)).max(1000).optional(),
    dryRun: z.boolean().default(false),
    /** Copies large files that are not committed into the repository, instead of keeping their work tree. */
    saveLarge: z.boolean().default(false),
  }),
  output: z.object({
    /** On a dry run, `removed` says what would be removed. */
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
