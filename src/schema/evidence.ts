import { z } from 'zod';

/** What Squad's own observation makes of a run's claim. The table is in `src/core/evidence/verdict.ts`. */
export const Verdict = z.enum(['verified', 'claimed', 'empty', 'contradicted']);
export type Verdict = z.infer<typeof Verdict>;

/** Lists in evidence are samples; the counts beside them are whole. */
export const MAX_FILES_NAMED = 20;
export const MAX_COMMITS_NAMED = 5;

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
  filesChanged: z.object({ count: z.number(), files: z.array(z.string()).max(MAX_FILES_NAMED) }).nullable(),
  commits: z.object({ count: z.number(), newest: z.array(CommitMade).max(MAX_COMMITS_NAMED) }).nullable(),
  /** Lines, where those of all files could be counted. Binary files have none. */
  diff: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  leftoversKilled: z.number(),
  note: z.string().nullable(),
  verdict: Verdict,
});
export type Evidence = z.infer<typeof Evidence>;

/** A file that differed from its repository's HEAD when the run began, or that git was told not to look at. */
const DirtyFile = z.object({
  /** Bytes of the path, one character each: a name need not be UTF-8. From the repository's root. */
  path: z.string(),
  isUntracked: z.boolean(),
  /** Changes whenever the file is written, replaced or given other rights. Null: there was no such file. */
  stamp: z.string().nullable(),
  /** Of its content; null where there were too many bytes to read before a start. */
  hash: z.string().nullable(),
});
export type DirtyFile = z.infer<typeof DirtyFile>;

/** A git work tree at one moment: enough to tell later what changed, small enough to be kept with each run. */
export const WorkSnapshot = z.object({
  root: z.string(),
  /** Null before the first commit. */
  head: z.string().nullable(),
  /** Null when HEAD is detached. */
  branch: z.string().nullable(),
  /** Bytes of the list of everything HEAD has pointed to: what comes after them came after the snapshot. */
  headLogSize: z.number(),
  dirty: z.array(DirtyFile),
  /** Ignore rules that are in no file of the work tree, as they were; null: not known. */
  ignoreRules: z.string().nullable().default(null),
  /** Files that `skip-worktree` kept out of the folder; null: not known. */
  keptOut: z.number().nullable().default(null),
  /** When git began to look, and when all of it was known. */
  takenAt: z.number(),
  readyAt: z.number(),
});
export type WorkSnapshot = z.infer<typeof WorkSnapshot>;

/** Either a snapshot, or why there is none. */
export const Baseline = z.object({ snapshot: WorkSnapshot.nullable(), why: z.string().nullable() });
export type Baseline = z.infer<typeof Baseline>;

export interface ChangedFile {
  /** As `git` would print it: from the repository's root, quoted when it holds anything unusual. */
  path: string;
  status: 'A' | 'M' | 'D' | 'T';
  /** Not below the folder the agent worked in. */
  isOutside: boolean;
}

/** What is different now from a snapshot. A part that cannot be known is null, and `notes` says why. */
export interface WorkChanges {
  files: ChangedFile[] | null;
  commits: { count: number; newest: CommitMade[] } | null;
  lines: { insertions: number; deletions: number } | null;
  notes: string[];
  /** The work tree is on another branch than the run's: its files are not what the run has to show. */
  isElsewhere?: true;
}

export interface WorkDiff {
  text: string;
  isTruncated: boolean;
}
