import { z } from 'zod';
import { loadBaseline, usesSameFolder } from '../../core/evidence/baseline.ts';
import type { WorktreeRemains } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import type { WorkSnapshot } from '../../schema/evidence.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

const MAX_BYTES = 8 * 1024 * 1024;

/** Shows what changed in a run's folder since the run started. Throws DIFF_UNAVAILABLE. */
export const diffRun = operation({
  name: 'diff_run',
  route: 'GET /runs/{run}/diff',
  agents: 'spawn',
  input: z.strictObject({
    run: z.string(),
    stat: z.boolean().default(false),
    /** Number of unchanged lines around each change (default: 3). */
    context: z.number().int().min(0).max(1_000_000).optional(),
  }),
  output: z.object({
    runId: z.string(),
    isOver: z.boolean(),
    /** Branch that was compared because the folder is gone. Null if the folder was compared. */
    branch: z.string().nullable(),
    /** The diff. Null with `stat`. */
    text: z.string().nullable(),
    isTruncated: z.boolean(),
    /** The changed files. Null without `stat`, or if unknown. */
    files: z.array(z.object({ path: z.string(), status: z.string(), isOutside: z.boolean() })).nullable(),
    lines: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),

    notes: z.array(z.string()),
  }),
  async run({ services }, { run: given, stat, context }) {
    const run = await findRun(services, given);
    const { id, directory } = run;
    const shown = { runId: id, isOver: isEnd(run.status), branch: null };
    const left = run.worktree && (await services.worktrees.remains(run.worktree));
    if (run.worktree && left && !left.isThere && run.startedAt !== null)
      return { ...shown, ...(await diffOfBranch(services, run, run.worktree, { ...left, stat, context })) };
    const before = await snapshotOf(services, run);
    const notes = notesOf(services, run);
    if (stat) {
      const { files, lines, notes: more } = await services.workTree.changes(directory, before, run);
      // Duplicates are removed, because the notes from the end of the run are often the same.
      return {
        ...shown,
        text: null,
        isTruncated: false,
        files,
        lines,
        notes: [...new Set([...notes, ...more])],
      };
    }
    const diff = await services.workTree.diff(directory, before, { ...run, maxBytes: MAX_BYTES, context });
    return { ...shown, ...diff, files: null, lines: null, notes };
  },
});

/** Compares the branch of a run whose folder is gone. */
async function diffOfBranch(
  { files, workTree }: Services,
  { id }: Run,
  { branch, repository, base }: Worktree,
  {
    tip,
    saved,
    stat,
    context,
  }: Pick<WorktreeRemains, 'tip' | 'saved'> & { stat: boolean; context: number | undefined },
) {
  const newest = saved.at(-1);
  const kept = newest
    ? [`its uncommitted work is saved: git diff ${shellWord(branch)} ${shellWord(newest)}`]
    : [];
  if (tip === null)
    throw new SquadError(
      'DIFF_UNAVAILABLE',
      `No diff of run ${id}: its work tree and its branch ${branch} are gone`,
      {
        suggestions: [
          newest
            ? `\`git diff ${shellWord(base)} ${shellWord(newest)}\` shows the work that was saved.`
            : `\`squad show ${shellWord(id)}\` shows what is known about it.`,
        ],
      },
    );
  const before = (await loadBaseline(files, { runId: id, number: 1 })).snapshot?.head ?? base;
  const notes = [`its work tree is gone: this is ${before.slice(0, 12)}..${branch}`, ...kept];
  const nothing = { text: null, isTruncated: false, files: null, lines: null };
  return stat
    ? { ...nothing, branch, notes, ...(await workTree.commitChanges(repository, before, tip)) }
    : {
        ...nothing,
        branch,
        notes,
        ...(await workTree.commitDiff(repository, before, tip, { maxBytes: MAX_BYTES, context })),
      };
}

async function snapshotOf(
  { files, workTree }: Services,
  { id, startedAt, directory }: Run,
): Promise<WorkSnapshot> {
  const { snapshot, why: unknown } = await loadBaseline(files, { runId: id, number: 1 });
  if (snapshot) return snapshot;
  const why =
    startedAt === null ? 'it has not started' : ((await workTree.snapshot(directory)).why ?? unknown);
  throw new SquadError('DIFF_UNAVAILABLE', `No diff of run ${id}: ${why}`, {
    suggestions: [`\`squad show ${shellWord(id)}\` shows what is known about it.`],
  });
}

function notesOf({ runner }: Services, run: Run): string[] {
  if (isEnd(run.status)) return run.evidence?.note ? [run.evidence.note] : [];
  const others = runner.liveRuns().filter(other => other.id !== run.id && usesSameFolder(run, other)).length;
  if (others === 0) return [];
  return [`${others} other ${others === 1 ? 'run is' : 'runs are'} running in this folder`];
}
