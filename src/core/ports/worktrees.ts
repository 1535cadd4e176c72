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
  /** Absolute. */
  directory: string;
  workspace: string;
  /** Fork the current branch of this work tree instead of what is checked out at `directory`. */
  from?: Worktree;
}

export interface PlannedWorktree {
  worktree: Worktree;
  /** The folder in the work tree that corresponds to the `directory` asked for. */
  directory: string;
  /** For the caller: uncommitted changes that are not in it, submodules, large-file pointers. */
  notes: string[];
}

export interface WorktreeSetup extends WorktreeSettings {
  /** Root of the workspace, from which files are copied. */
  source: string;
  env: Record<string, string>;
  /** For the output of the set-up command. */
  logFile: string;
}

export interface Checkout {
  /** Root of the user's checkout; for a folder in a work tree of Squad's, that of its repository. */
  root: string;
  /** Identifies the repository, the same for all its checkouts and work trees. */
  repository: string;
}

/** State of a work tree and its branch, from Git and the disk. */
export const WorktreeState = z.object({
  /** `missing`: its folder was removed. `foreign`: something else is there. */
  folder: z.enum(['there', 'missing', 'foreign']),
  /** Commit of the branch; null: there is no such branch. */
  tip: z.string().nullable(),
  /** Commits that the base does not have; null: unknown. */
  ahead: z.number().nullable(),
  /** All commits are in the base branch; null: there is no base branch to compare with. */
  isMerged: z.boolean().nullable(),
  /** Files that differ from the tip, with untracked ones; null: unknown. */
  uncommitted: z.number().nullable(),
  /** Processes whose working directory is in it. */
  processes: z.array(z.object({ pid: z.number(), command: z.string() })),
  /** Why it cannot be removed now, and what to do about it. */
  held: z.string().nullable(),
  /** Why its removal would save so much data that the user has to decide, and what to do about it. */
  large: z.string().nullable(),
  /** Why something is unknown. */
  error: z.string().nullable(),
});
export type WorktreeState = z.infer<typeof WorktreeState>;

/** Remains of a work tree that may be gone. */
export interface WorktreeRemains {
  /** Its folder is complete. */
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
  /** Save hundreds of megabytes of uncommitted files too, instead of keeping the work tree. */
  saveLarge?: boolean;
}

export type Removal =
  | { outcome: 'removed'; savedRef: string | null; branchIsGone: boolean }
  /** The folder was already gone; Git's record of it was cleaned up. */
  | { outcome: 'gone'; branchIsGone: boolean }
  | { outcome: 'kept'; why: string };

/**
 * Work trees for runs. Changes of one repository are made one at a time, so that they do not meet each other's Git locks.
 * Nothing that the repository or the user configured is run.
 */
export interface Worktrees {
  /** Read-only. Throws NOT_A_REPOSITORY, REPOSITORY_UNSUITABLE, BRANCH_EXISTS, GIT_FAILED. */
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
  /** Null: the folder is in no repository. */
  checkout(folder: string): Promise<Checkout | null>;
  /** Its repository, as `checkout` names it. Null: it is gone. */
  repositoryOf(worktree: Worktree): Promise<string | null>;
  /** One short Git process. Throws GIT_FAILED. */
  remains(worktree: Worktree): Promise<WorktreeRemains>;
  /** Sets its branch back to this commit. False: the commit is gone too. Throws GIT_FAILED. */
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
   * Never loses work: uncommitted changes are saved under a ref first, and if anything is uncertain the work tree stays. The
   * branch is deleted only on request and only if it has no commits of its own. The caller makes sure that no run works in it.
   */
  remove(worktree: Worktree, how: RemoveOptions): Promise<Removal>;
  /** Folders of work trees that belong to no known run. */
  strays(known: readonly Worktree[]): Promise<string[]>;
}

/**
 * Changes the branch of a work tree in two steps: create a commit that nothing refers to, then move the branch. An agent may be
 * working in the same tree meanwhile.
 */
export interface Branches {
  /** Throws WORKTREE_MISSING, GIT_FAILED. */
  tip(worktree: Worktree): Promise<string>;
  /** All uncommitted changes as a commit on the tip; null: there are none. Throws UNCOMMITTABLE. */
  prepareAll(worktree: Worktree, message: string): Promise<BranchMove | null>;
  /**
   * One file with this text as a commit on the tip; null removes the file, and returns null if there is none. Uncommitted
   * changes of the agent in that file become a commit of their own before it. Throws FEEDBACK_FAILED.
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
  /** Reverts `apply` (with the same `path`): the work is uncommitted again. Does nothing if the move was not applied, or the branch has moved on. */
  undo(worktree: Worktree, move: BranchMove, path?: string, patienceMs?: number): Promise<void>;
}

/** Changes of the files in a run's folder, as Git tells them. Throws only where noted. */
export interface FolderChanges {
  /**
   * How many lines a file has, by its path in the folder or in the repository around it. Null: it does not exist there, or is no text
   * file that can be read.
   */
  lineCount(directory: string, path: string): Promise<number | null>;
  /** One short Git process, because the start of the agent waits for it. */
  snapshot(directory: string, signal?: AbortSignal): Promise<Baseline>;
  changes(directory: string, before: WorkSnapshot, options?: WorkPlace): Promise<WorkChanges>;
  /** Between two commits of a repository, for a folder that is gone. Both throw DIFF_UNAVAILABLE. */
  commitChanges(repository: string, from: string, to: string): Promise<Pick<WorkChanges, 'files' | 'lines'>>;
  commitDiff(repository: string, from: string, to: string, options: { maxBytes: number }): Promise<WorkDiff>;
  /** Throws DIFF_UNAVAILABLE. */
  diff(directory: string, before: WorkSnapshot, options: WorkPlace & { maxBytes: number }): Promise<WorkDiff>;
}

export interface WorkPlace {
  /** Its team files are not counted: Squad itself keeps them up to date. */
  workspace?: string;
  /** The run's own branch: what the run commits elsewhere is not counted. */
  branch?: string;
}
