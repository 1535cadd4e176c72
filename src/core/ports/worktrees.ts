import { z } from 'zod';
import type { Baseline, WorkChanges, WorkDiff, WorkSnapshot } from '../../schema/evidence.ts';
import type { RunId } from '../../schema/ids.ts';
import type { BranchMove } from '../../schema/review.ts';
import type { Worktree, WorktreeSettings } from '../../schema/worktree.ts';
import type { Command, Mount } from './turns.ts';

export interface WorktreeAsk {
  runId: RunId;
  /** Part of the branch name: the id of the role or the engine. */
  name: string;
  /** Absolute path of the folder. */
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
  /**
   * Wraps the set-up command in the sandbox of the run, because an agent may have committed the files that the command
   * runs. With null the command runs outside a sandbox.
   */
  confine: ((command: Command) => Promise<Command>) | null;
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
  /** Commit of the branch. Null if there is no such branch. */
  tip: z.string().nullable(),
  /** Number of commits that the base does not have. Null if unknown. */
  ahead: z.number().nullable(),
  /** True if all commits are in the base branch. Null if there is no base branch to compare with. */
  isMerged: z.boolean().nullable(),
  /** Number of files that differ from the tip, including untracked ones. Null if unknown. */
  uncommitted: z.number().nullable(),
  /** Processes whose working directory is in the work tree. */
  processes: z.array(z.object({ pid: z.number(), command: z.string() })),
  /** Why the work tree cannot be removed now, with the next step. Null if it can. */
  held: z.string().nullable(),
  /** Reason with the next step, if a removal would save so much data that the user has to decide. Null otherwise. */
  large: z.string().nullable(),
  /** Why something is unknown. Null if everything is known. */
  error: z.string().nullable(),
});
export type WorktreeState = z.infer<typeof WorktreeState>;

/** Parts of a work tree that still exist, also after its removal. */
export interface WorktreeRemains {
  /** True if the work tree's folder is complete. */
  isThere: boolean;
  /** Commit of the branch. Null if there is no such branch, or no repository. */
  tip: string | null;
  /** Refs with uncommitted work that was saved at removal, newest last. */
  saved: string[];
}

export interface CollectedCommits {
  /** New commits on the branch. */
  commits: number;
  /**
   * Note for readers of the result: commits that could not be brought into the repository, and the ref that contains
   * them. Null if there are none.
   */
  note: string | null;
}

export interface RemoveOptions {
  dropEmptyBranch: boolean;
  /** True to save uncommitted files even if they have hundreds of megabytes. Otherwise such a work tree is kept. */
  saveLarge?: boolean;
}

export type Removal =
  | { outcome: 'removed'; savedRef: string | null; branchIsGone: boolean }
  /** The folder was already missing, and Git's record of it was removed. */
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
  /** The checkout that contains a folder. Null if the folder is in no repository. */
  checkout(folder: string): Promise<Checkout | null>;
  /** The repository of a work tree, as `checkout` identifies it. Null if it no longer exists. */
  repositoryOf(worktree: Worktree): Promise<string | null>;
  /** Remains of a work tree, found with one short Git process. Throws GIT_FAILED. */
  remains(worktree: Worktree): Promise<WorktreeRemains>;
  /** Creates the branch again at this commit. False if the commit is gone too. Throws GIT_FAILED. */
  restoreBranch(worktree: Worktree, commit: string): Promise<boolean>;
  /**
   * Prepares the work tree for a run in a sandbox: creates its private Git folder, or updates it from the repository, and
   * returns the mounts of the work tree and of Git. Called before each turn. Throws GIT_FAILED. With `set-up` the work tree
   * is writable and may be incomplete. With `isInUse` (default: false) another sandboxed run uses the work tree, so its
   * private Git folder is not replaced.
   */
  confine(worktree: Worktree, access: 'read' | 'write' | 'set-up', isInUse?: boolean): Promise<Mount[]>;
  /**
   * Brings the commits that a sandboxed agent has made on its branch into the repository, after a check of their objects.
   * Idempotent; cheap if there are none. Throws GIT_FAILED; the private Git folder is kept then.
   */
  collect(worktree: Worktree): Promise<CollectedCommits>;
  /** Size of the work tree's folder on disk. */
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
  /** Prepares a commit of all uncommitted changes on the tip. Null if there are none. Throws UNCOMMITTABLE. */
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
   * Moves the branch and the index. With `path`, only that file changes in index and folder. Otherwise nothing in the
   * folder changes. Idempotent. Throws BRANCH_MOVED, and GIT_BUSY when another Git process works in the folder for
   * longer than `patienceMs`.
   */
  apply(worktree: Worktree, move: BranchMove, path?: string, patienceMs?: number): Promise<void>;
  /**
   * Reverts `apply` (with the same `path`): the work becomes uncommitted again. Does nothing if the move was not
   * applied, or if the branch has moved since.
   */
  undo(worktree: Worktree, move: BranchMove, path?: string, patienceMs?: number): Promise<void>;
}

/**
 * Sends work trees to other machines and takes them back, as Git bundles. The work tree here is a copy of the one on
 * the machine.
 */
export interface CodeTravel {
  /** Names of the repository and the work tree on the other machine, and the ref that is used in bundles. */
  names(worktree: Worktree): { repo: string; worktree: string; ref: string };
  /**
   * Packs the state of the work tree: the tip of its branch, and a commit of all its files. `bundle` is a file with the
   * commits that are missing in `haves`, or null if none is missing. `done` removes the file. Throws GIT_FAILED and
   * UNCOMMITTABLE.
   */
  pack(
    worktree: Worktree,
    haves: readonly string[],
  ): Promise<{
    tip: string;
    work: string;
    author: { name: string; email: string };
    bundle: string | null;
    done(): Promise<void>;
  }>;
  /** Commits of the work tree that this machine has. */
  have(worktree: Worktree): Promise<string[]>;
  /**
   * Checks a state that another machine sent, and brings the work tree here to that state. Returns a note for readers
   * of the result if changes had to be kept elsewhere. Throws GIT_FAILED.
   */
  unpack(
    worktree: Worktree,
    came: { tip: string; work: string; bundle: string | null },
  ): Promise<string | null>;
}

/** Changes of the files in a run's folder, as Git reports them. Throws only where noted. */
export interface FolderChanges {
  /**
   * Number of lines of a file, given by its path in the folder or in the repository around it. Null if the file does
   * not exist, or is not a readable text file.
   */
  lineCount(directory: string, path: string): Promise<number | null>;
  /** Takes a snapshot with one short Git process, because the start of the agent waits for it. */
  snapshot(directory: string, signal?: AbortSignal): Promise<Baseline>;
  changes(directory: string, before: WorkSnapshot, options?: WorkPlace): Promise<WorkChanges>;
  /**
   * Changes between two commits of a repository, for a folder that is gone. This and the next method throw
   * DIFF_UNAVAILABLE.
   */
  commitChanges(repository: string, from: string, to: string): Promise<Pick<WorkChanges, 'files' | 'lines'>>;
  commitDiff(repository: string, from: string, to: string, options: DiffSize): Promise<WorkDiff>;
  /** Diff since the snapshot. Throws DIFF_UNAVAILABLE. */
  diff(directory: string, before: WorkSnapshot, options: WorkPlace & DiffSize): Promise<WorkDiff>;
  /**
   * A file of the repository, by the path that a diff names, in a commit or in the folder (null). Null if it is not
   * there. Throws DIFF_UNAVAILABLE.
   */
  fileVersion(
    directory: string,
    path: string,
    commit: string | null,
    maxBytes: number,
  ): Promise<FileVersion | null>;
}

export interface DiffSize {
  maxBytes: number;
  /** Number of unchanged lines around each change (default: 3). */
  context?: number | undefined;
}

export interface FileVersion {
  bytes: number;
  /** Null if the file is larger than the limit, or is not a regular file. */
  content: Buffer | null;
}

export interface WorkPlace {
  /** The workspace, whose team files are not counted, because Squad itself keeps them up to date. */
  workspace?: string;
  /** The run's own branch: commits of the run on other branches are not counted. */
  branch?: string;
}
