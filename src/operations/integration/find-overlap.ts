import { z } from 'zod';
import { overlapOf } from '../../core/integration/overlap.ts';
import { RunId } from '../../schema/ids.ts';
import { runSummary, ShownStatus } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation, type Services } from '../operation.ts';
import { runsOfRepository, type TreeRun } from '../worktrees/known-worktrees.ts';

const MAX_RUNS = 500;
const MAX_FILES = 1_000;

/** Finds files that several work trees of this repository have changed. */
export const findOverlap = operation({
  name: 'find_overlap',
  route: 'GET /overlap',
  input: z.strictObject({}),
  output: z.object({
    runs: z.array(
      z.object({
        runId: RunId,
        name: z.string(),
        summary: z.string(),
        status: ShownStatus,
        /** How many files it has changed; null: unknown, for the reason in `why`. */
        files: z.number().nullable(),
        why: z.string().nullable(),
      }),
    ),
    files: z.array(z.object({ path: z.string(), runs: z.array(RunId) })),
    pairs: z.array(z.object({ runs: z.tuple([RunId, RunId]), files: z.number() })),
    /** Number of files that are not listed. */
    moreFiles: z.number(),
  }),
  async run({ services, caller }) {
    const { root } = await services.workspaces.open(caller);
    const trees = await latestRuns(services, root);
    const touched = await services.integration.touched(trees.map(({ worktree }) => worktree));
    const shown = trees.map(({ run }, at) => ({
      ...{ runId: run.id, name: runName(run), summary: runSummary(run), status: shownStatus(run) },
      files: touched[at]?.files?.length ?? null,
      why: touched[at]?.why ?? null,
    }));
    const changes = trees.map(({ run, repository }, at) => ({
      ...{ runId: run.id, repository },
      files: touched[at]?.files ?? [],
    }));
    // The same path in two repositories is not the same file.
    const overlaps = [...Map.groupBy(changes, ({ repository }) => repository).values()].map(overlapOf);
    const files = overlaps.flatMap(overlap => overlap.files);
    return {
      runs: shown.filter(({ files: count }) => count !== 0),
      files: files.slice(0, MAX_FILES),
      pairs: overlaps.flatMap(overlap => overlap.pairs),
      moreFiles: Math.max(0, files.length - MAX_FILES),
    };
  },
});

/** The last run of each work tree whose branch still exists. A reviewer's branch is not merged, so it is left out. */
async function latestRuns(services: Services, workspace: string): Promise<TreeRun[]> {
  const last = new Map<string, TreeRun>();
  for (const each of (await runsOfRepository(services, workspace)).toReversed())
    if (each.run.reviewOf === null) last.set(each.worktree.path, each);
  const found: TreeRun[] = [];
  for (const [repository, trees] of Map.groupBy(last.values(), each => each.repository)) {
    // If git fails here, reading each work tree reports why.
    const tips = await services.integration.tips(repository, null).catch(() => null);
    found.push(...trees.filter(({ worktree }) => !tips || tips.has(worktree.branch)));
  }
  return found.slice(-MAX_RUNS);
}
