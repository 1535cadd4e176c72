import { z } from 'zod';

/** Whether Squad's observations support what a run claims. The table is in `src/core/evidence/evidence.ts`. */
export const Verdict = z.enum(['verified', 'claimed', 'empty', 'contradicted']);
export type Verdict = z.infer<typeof Verdict>;

/** Maximum number of files that evidence lists; the counts are complete. */
export const MAX_FILES_NAMED = 20;
export const MAX_COMMITS_NAMED = 5;

export const CommitMade = z.object({ id: z.string(), subject: z.string() });
export type CommitMade = z.infer<typeof CommitMade>;

/** Squad's own observations of a run. Null where it could not observe; `note` says why. */
export const Evidence = z.object({
  exitCode: z.number().nullable(),
  durationMs: z.number().nullable(),
  /** Null if the engine does not report tool calls, which is not the same as 0. */
  toolCalls: z.number().nullable(),
  toolFailures: z.number().nullable(),
  toolDenials: z.number().nullable().default(null),
  /** Number of calls to change a file that are not known to have failed. */
  toolEdits: z.number().nullable().default(null),
  /** Each file as `M src/a.ts`: A added, M modified, D deleted, T type changed. */
  filesChanged: z.object({ count: z.number(), files: z.array(z.string()).max(MAX_FILES_NAMED) }).nullable(),
  commits: z.object({ count: z.number(), newest: z.array(CommitMade).max(MAX_COMMITS_NAMED) }).nullable(),
  /** Number of changed lines, if they could be counted for all files. Binary files have none. */
  diff: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  leftoversKilled: z.number(),
  note: z.string().nullable(),
  verdict: Verdict,
});
export type Evidence = z.infer<typeof Evidence>;

/** A file that differed from HEAD when the run started, or whose changes git is set to ignore. */
const DirtyFile = z.object({
  /** Path relative to the repository's root, as latin1, because a name need not be UTF-8. */
  path: z.string(),
  isUntracked: z.boolean(),
  /** Changes whenever the file is written or replaced, or its mode changes. Null if the file did not exist. */
  stamp: z.string().nullable(),
  /** Hash of the content. Null if there was too much to read before the start. */
  hash: z.string().nullable(),
});
export type DirtyFile = z.infer<typeof DirtyFile>;

/** State of a git work tree: enough to detect later changes, small enough to store with each run. */
export const WorkSnapshot = z.object({
  root: z.string(),
  /** Commit that HEAD points to. Null before the first commit. */
  head: z.string().nullable(),
  /** Current branch. Null if HEAD is detached. */
  branch: z.string().nullable(),
  /** Size of HEAD's reflog in bytes. Entries after that are newer than the snapshot. */
  headLogSize: z.number(),
  dirty: z.array(DirtyFile),
  /** Ignore rules from outside the work tree. Null if unknown. */
  ignoreRules: z.string().nullable().default(null),
  /** Number of files that `skip-worktree` excludes from the folder. Null if unknown. */
  keptOut: z.number().nullable().default(null),
  /** Start and end time of taking the snapshot. */
  takenAt: z.number(),
  readyAt: z.number(),
});
export type WorkSnapshot = z.infer<typeof WorkSnapshot>;

export const Baseline = z.object({ snapshot: WorkSnapshot.nullable(), why: z.string().nullable() });
export type Baseline = z.infer<typeof Baseline>;

export interface ChangedFile {
  /** Path as git prints it: relative to the repository's root, quoted if it has unusual characters. */
  path: string;
  status: 'A' | 'M' | 'D' | 'T';
  /** True if the file is outside the agent's folder. */
  isOutside: boolean;
}

/** Changes since a snapshot. Unknown parts are null, and `notes` says why. */
export interface WorkChanges {
  files: ChangedFile[] | null;
  commits: { count: number; newest: CommitMade[] } | null;
  lines: { insertions: number; deletions: number } | null;
  notes: string[];
  /**
   * True if another branch than the run's is checked out in the work tree, so that the files are not the run's work.
   */
  isElsewhere?: true;
}

export interface WorkDiff {
  text: string;
  isTruncated: boolean;
}
