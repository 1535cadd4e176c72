import { z } from 'zod';

/** What Squad's own observation makes of a run's claim. The table is in `src/core/evidence/verdict.ts`. */
export const Verdict = z.enum(['verified', 'claimed', 'empty', 'contradicted']);
export type Verdict = z.infer<typeof Verdict>;

/** Lists in evidence are samples; the counts beside them are whole. */
export const MOST_FILES_NAMED = 20;
export const MOST_COMMITS_NAMED = 5;

export const CommitMade = z.object({ id: z.string(), subject: z.string() });
export type CommitMade = z.infer<typeof CommitMade>;

/** What Squad saw of a run, beside what the run said. Null where it could not be seen; `note` says why. */
export const Evidence = z.object({
  exitCode: z.number().nullable(),
  durationMs: z.number().nullable(),
  /** Null when the engine reports none, which is not the same as 0. */
  toolCalls: z.number().nullable(),
  toolFailures: z.number().nullable(),
  /** Of all turns, like the two before; and calls that were to change a file and are not known to have failed. */
  toolDenials: z.number().nullable().default(null),
  toolEdits: z.number().nullable().default(null),
  /** Each file as `M src/a.ts`: A added, M changed, D deleted, T changed its type. */
  filesChanged: z.object({ count: z.number(), files: z.array(z.string()).max(MOST_FILES_NAMED) }).nullable(),
  commits: z.object({ count: z.number(), newest: z.array(CommitMade).max(MOST_COMMITS_NAMED) }).nullable(),
  /** Lines, where those of all files could be counted. Binary files have none. */
  diff: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  leftoversKilled: z.number(),
  note: z.string().nullable(),
  verdict: Verdict,
});
export type Evidence = z.infer<typeof Evidence>;
