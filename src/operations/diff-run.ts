import { z } from 'zod';
import { keptBaseline, sharesFolder } from '../core/baseline.ts';
import { SquadError } from '../schema/error.ts';
import { isEnd, type Run } from '../schema/run.ts';
import type { WorkSnapshot } from '../schema/work.ts';
import { findRun } from './find.ts';
import { operation, type Services } from './operation.ts';

const MOST_BYTES = 8 * 1024 * 1024;

/** What is different in a run's folder from before it. Throws DIFF_UNAVAILABLE. */
export const diffRun = operation({
  name: 'diff_run',
  tool: null,
  input: z.strictObject({ run: z.string(), stat: z.boolean().default(false) }),
  output: z.object({
    runId: z.string(),
    isOver: z.boolean(),
    /** Null with `stat`. */
    text: z.string().nullable(),
    isTruncated: z.boolean(),
    /** Null without `stat`, or where it cannot be told. */
    files: z.array(z.object({ path: z.string(), status: z.string(), isOutside: z.boolean() })).nullable(),
    lines: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
    /** What to keep in mind when reading it. */
    notes: z.array(z.string()),
  }),
  async run({ services }, { run: given, stat }) {
    const run = await findRun(services, given);
    const { id, directory } = run;
    const before = await snapshotOf(services, run);
    const shown = { runId: id, isOver: isEnd(run.status) };
    const notes = notesOf(services, run);
    if (stat) {
      const { files, lines, notes: more } = await services.workTree.changes(directory, before);
      // What the run's end was noted with is often the same.
      return {
        ...shown,
        text: null,
        isTruncated: false,
        files,
        lines,
        notes: [...new Set([...notes, ...more])],
      };
    }
    const diff = await services.workTree.diff(directory, before, { maxBytes: MOST_BYTES });
    return { ...shown, ...diff, files: null, lines: null, notes };
  },
});

async function snapshotOf(
  { files, workTree }: Services,
  { id, startedAt, directory }: Run,
): Promise<WorkSnapshot> {
  const { snapshot, why: unknown } = await keptBaseline(files, { runId: id, number: 1 });
  if (snapshot) return snapshot;
  const why =
    startedAt === null ? 'it has not started' : ((await workTree.snapshot(directory)).why ?? unknown);
  throw new SquadError('DIFF_UNAVAILABLE', `No diff of run ${id}: ${why}`, {
    suggestions: [`\`squad show ${id}\` has what is known of it.`],
  });
}

function notesOf({ runner }: Services, run: Run): string[] {
  if (isEnd(run.status)) return run.evidence?.note ? [run.evidence.note] : [];
  const others = runner.liveRuns().filter(other => other.id !== run.id && sharesFolder(run, other)).length;
  if (others === 0) return [];
  return [`${others} other ${others === 1 ? 'run works' : 'runs work'} in this folder just now`];
}
