import { z } from 'zod';
import type { Baseline, WorkChanges, WorkDiff, WorkSnapshot } from '../../schema/evidence.ts';
import type { RunId } from '../../schema/ids.ts';
import type { BranchMove } from '../../schema/review.ts';
import type { Worktree, WorktreeSettings } from '../../schema/worktree.ts';
import type { Mount } from './turns.ts';

export interface WorktreeAsk {
  runId: RunId;
  /** Part of the branch name: the id of the role or the engine. */
  name: string;
  /** Absolute path. */
  directory: string;
  workspace: string;
  /** Fork the current branch of this work tree, instead of the commit that is checked out at `directory`. */
  from?: Worktree;
}

export interface PlannedWorktree {
  worktree: Worktree;
  /** The folder in the work tree that corresponds to the requested `directory`. */
  directory: string;
  /** Notes for the caller: uncommitted changes that are not in the work tree, submodules, large-file pointers. */
  notes: string[];
}

export interface WorktreeSetup extends WorktreeSettings {
  /** Root of the workspace, from which files are copied. */
  source: string;
  env: Record<string, string>;
  /** File for the output of the set-up command. */
  logFile: string;
}

export interface Checkout {
  /** Root of the user's checkout; for a folder in a work tree of Squad, the root of its repository. */
  root: string;
  /** Identifies the repository; equal for all its checkouts and work trees. */
  repository: string;
}

/** State of a work tree and its branch, from Git and the disk. */
export const WorktreeState = z.object({
  /** `missing`: the folder was removed. `foreign`: another folder or file is in its place. */
  folder: z.enum(['there', 'missing', 'foreign']),
  /** Commit of the branch; null: there is no such branch. */
  tip: z.string().nullable(),
  /** Number of commits that the base does not have; null: unknown. */
  ahead: z.number().nullable(),
  /** True: all commits are in the base branch; null: there is no base branch to compare with. */
  isMerged: z.boolean().nullable(),
  /** Number of files that differ from the tip, including untracked ones; null: unknown. */
  uncommitted: z.number().nullable(),
  /** Processes whose working directory is in the work tree. */
  processes: z.array(z.object({ pid: z.number(), command: z.string() })),
  /** Why the work tree cannot be removed now, with the next step; null: it can. */
  held: z.string().nullable(),
  /** Why removing it would save so much data that the user has to decide, with the next step; null: it would not. */
  large: z.string().nullable(),
  /** Why something is unknown; null: everything is known. */
  error: z.string().nullable(),
});
export type WorktreeState = z.infer<typeof WorktreeState>;

/** Remains of a work tree that may be gone. */
export interface WorktreeRemains {
  /** True: the folder is complete. */
  isThere: boolean;
  /** Commit of the branch; null: there is no such branch, or no repository. */
  tip: string | null;
  /** Refs with uncommitted work that was saved at removal, newest last. */
  saved: string[];
}

export interface CollectedCommits {
  /** New commits on the branch. */
  commits: number;
  /** For readers of the result: commits that could not be taken over, and the ref under which they were saved. Null: nothing to say. */
  note: string | null;
}

export interface RemoveOptions {
  dropEmptyBranch: boolean;
  /** True: save even hundreds of megabytes of uncommitted files, instead of keeping the work tree. */
  saveLarge?: boolean;
}

export type Removal =
  | { outcome: 'removed'; savedRef: string | null; branchIsGone: boolean }
  /** The folder was already gone; Git's record of it was cleaned up. */
  | { outcome: 'gone'; branchIsGone: boolean }
  | { outcome: 'kept'; why: string };

/**
 * Work trees for runs. Changes of one repository are made one at a time, so that they do not run into each other's Git
 * locks. Runs no program that the repository or the user configured.
 */
export interface Worktrees {
  /**
   * Plans a work tree without changing anything. Throws NOT_A_REPOSITORY, REPOSITORY_UNSUITABLE, BRANCH_EXISTS,
   * GIT_FAILED.
   */
  plan(ask: WorktreeAsk): Promise<PlannedWorktree>;
  /**
   * Creates the work tree unless it is complete, and in it the agent's folder if the commit does not have it. Throws
   * BRANCH_EXISTS, SETUP_FAILED, GIT_FAILED, DISK_FULL, NOT_A_REPOSITORY, REPOSITORY_UNSUITABLE.
   */
  ensure(
    worktree: Worktree,
    setup: WorktreeSetup | null,
    signal?: AbortSignal,
    directory?: string,
  ): Promise<{ made: boolean }>;
  state(worktree: Worktree): Promise<WorktreeState>;
  /** The checkout that contains a folder; null: the folder is in no repository. */
  checkout(folder: string): Promise<Checkout | null>;
  /** The repository of a work tree, as `checkout` identifies it; null: it is gone. */
  repositoryOf(worktree: Worktree): Promise<string | null>;
  /** What is left of a work tree, found with one short Git process. Throws GIT_FAILED. */
  remains(worktree: Worktree): Promise<WorktreeRemains>;
  /** Creates the branch again at this commit. False: the commit is gone too. Throws GIT_FAILED. */
  restoreBranch(worktree: Worktree, commit: string): Promise<boolean>;
  /**
   * For a run in a sandbox: (re)creates its private Git folder from the state of the repository and returns the mounts of the
   * folder and of Git. Called before each turn. Throws GIT_FAILED. `isInUse`: another sandboxed run is in the work tree, so its
   * private Git folder must not be replaced (default: false).
   */
  confine(worktree: Worktree, access: 'read' | 'write', isInUse?: boolean): Promise<Mount[]>;
  /**
   * Brings the commits that a sandboxed agent has made on its branch into the repository, after a check of their objects.
   * Idempotent; cheap if there are none. Throws GIT_FAILED; the private Git folder is kept then.
   */
  collect(worktree: Worktree): Promise<CollectedCommits>;
  /** Size of its folder on disk. */
  bytes(worktree: Worktree): Promise<number>;
  /**
   * Removes a work tree without losing work: uncommitted changes are saved under a ref first, and if anything is
   * uncertain the work tree stays. The branch is deleted only on request and only if it has no commits of its own. The
   * caller ensures that no run works in it.
   */
  remove(worktree: Worktree, how: RemoveOptions): Promise<Removal>;
  /** Folders of work trees that belong to no known run. */
  strays(known: readonly Worktree[]): Promise<string[]>;
}

/**
 * Changes the branch of a work tree in two steps: create a commit that nothing refers to, then move the branch. An
 * agent may be working in the same tree at that time.
 */
export interface Branches {
  /** Commit of the branch. Throws WORKTREE_MISSING and GIT_FAILED. */
  tip(worktree: Worktree): Promise<string>;
  /** Prepares a commit of all uncommitted changes on the tip; null: there are none. Throws UNCOMMITTABLE. */
  prepareAll(worktree: Worktree, message: string): Promise<BranchMove | null>;
  /**
   * Prepares a commit on the tip that writes this text to one file; a null text removes the file, and returns null if
   * there is none. Uncommitted changes of the agent in that file become a separate commit before it. Throws
   * FEEDBACK_FAILED.
   */
  prepareFile(
    worktree: Worktree,
    file: { path: string; text: string | null },
    message: string,
  ): Promise<BranchMove | null>;
  /**
   * Moves the branch and the index. With `path`, only that file changes in index and folder; otherwise nothing in the folder
   * changes. Idempotent. Throws BRANCH_MOVED, and GIT_BUSY when another Git process works in the folder for longer than
   * `patienceMs`.
   */
  apply(worktree: Worktree, move: BranchMove, path?: string, patienceMs?: number): Promise<void>;
  /**
   * Reverts `apply` (with the same `path`): the work becomes uncommitted again. Does nothing if the move was not
   * applied, or if the branch has moved since.
   */
  undo(worktree: Worktree, move: BranchMove, path?: string, patienceMs?: number): Promise<void>;
}

/** Changes of the files in a run's folder, as Git reports them. Throws only where noted. */
export interface FolderChanges {
  /**
   * Number of lines of a file, given by its path in the folder or in the repository around it. Null: the file does not
   * exist, or is not a readable text file.
   */
  lineCount(directory: string, path: string): Promise<number | null>;
  /** Uses one short Git process, because the start of the agent waits for it. */
  snapshot(directory: string, signal?: AbortSignal): Promise<Baseline>;
  changes(directory: string, before: WorkSnapshot, options?: WorkPlace): Promise<WorkChanges>;
  /**
   * Changes between two commits of a repository, for a folder that is gone. This and the next method throw
   * DIFF_UNAVAILABLE.
   */
  commitChanges(repository: string, from: string, to: string): Promise<Pick<WorkChanges, 'files' | 'lines'>>;
  commitDiff(repository: string, from: string, to: string, options: { maxBytes: number }): Promise<WorkDiff>;
  /** Diff since the snapshot. Throws DIFF_UNAVAILABLE. */
  diff(directory: string, before: WorkSnapshot, options: WorkPlace & { maxBytes: number }): Promise<WorkDiff>;
}

export interface WorkPlace {
  /** The workspace, whose team files are not counted, because Squad itself keeps them up to date. */
  workspace?: string;
  /** The run's own branch: commits of the run on other branches are not counted. */
  branch?: string;
}
