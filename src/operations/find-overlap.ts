import { z } from 'zod';
import { overlapOf } from '../core/integration/overlap.ts';
import { RunId } from '../schema/ids.ts';
import { type Run, RunStatus, runName, runSummary } from '../schema/run.ts';
import { asItIsNow } from './find.ts';
import { operation, type Services } from './operation.ts';

const MOST_RUNS = 500;
const MOST_FILES = 1_000;

/** Which work trees of this workspace have changed the same files, before anybody merges them. */
export const findOverlap = operation({
  name: 'find_overlap',
  tool: null,
  input: z.strictObject({}),
  output: z.object({
    runs: z.array(
      z.object({
        runId: RunId,
        name: z.string(),
        summary: z.string(),
        status: RunStatus,
        /** How many files it has changed; null: cannot be told, for the reason `why` gives. */
        files: z.number().nullable(),
        why: z.string().nullable(),
      }),
    ),
    files: z.array(z.object({ path: z.string(), runs: z.array(RunId) })),
    pairs: z.array(z.object({ runs: z.tuple([RunId, RunId]), files: z.number() })),
    /** How many more files there are than these. */
    moreFiles: z.number(),
  }),
  async run({ services, caller }) {
    const { root } = await services.workspaces.open(caller);
    const runs = await looked(services, root);
    const touched = await services.integration.touched(runs.map(({ worktree }) => worktree!));
    const shown = runs.map((run, at) => ({
      ...{ runId: run.id, name: runName(run), summary: runSummary(run), status: run.status },
      files: touched[at]?.files?.length ?? null,
      why: touched[at]?.why ?? null,
    }));
    const { files, pairs } = overlapOf(
      runs.map(({ id }, at) => ({ runId: id, files: touched[at]?.files ?? [] })),
    );
    return {
      runs: shown.filter(({ files: count }) => count !== 0),
      files: files.slice(0, MOST_FILES),
      pairs,
      moreFiles: Math.max(0, files.length - MOST_FILES),
    };
  },
});

/** The last run of each work tree whose branch is still there. A reviewer changes nothing that would be merged. */
async function looked(services: Services, workspace: string): Promise<Run[]> {
  const rows = await services.store.runs({ workspace, hasWorktree: true, limit: MOST_RUNS });
  const runs = await Promise.all(rows.map(row => asItIsNow(services, row)));
  const last = new Map<string, Run>();
  for (const run of runs.toReversed())
    if (run.worktree && run.reviewOf === null) last.set(run.worktree.path, run);
  const repositories = [...new Set([...last.values()].map(({ worktree }) => worktree!.repository))];
  const branches = new Set<string>();
  for (const repository of repositories)
    for (const branch of (await services.integration.tips(repository, null)).keys())
      branches.add(`${repository} ${branch}`);
  return [...last.values()].filter(({ worktree }) =>
    branches.has(`${worktree!.repository} ${worktree!.branch}`),
  );
}
