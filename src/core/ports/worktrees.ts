import type { RunId } from '../../schema/ids.ts';
import type { BranchMove } from '../../schema/review.ts';
import type { Worktree, WorktreeSettings } from '../../schema/worktree.ts';

export interface WorktreeAsk {
  runId: RunId;
  /** For the branch: the role's id, or the engine's. */
  name: string;
  /** The folder the caller named, absolute; and its workspace. */
  directory: string;
  workspace: string;
  /** Fork this work tree's branch as it is now, instead of what is checked out at `directory`. */
  from?: Worktree;
}

export interface PlannedWorktree {
  worktree: Worktree;
  /** Where the agent works in it: what `directory` is in the repository. */
  directory: string;
  /** What the caller should know: uncommitted changes that are not in it, submodules, pointers of large files. */
  notes: string[];
}

export interface WorktreeSetup extends WorktreeSettings {
  /** Where the files to copy are: the workspace's own root. */
  source: string;
  /** What the set-up command gets. */
  env: Record<string, string>;
  /** What the command prints goes here. */
  logFile: string;
}

/** Where a folder is in a repository. */
export interface Checkout {
  /** Root of the user's checkout; of a folder in a work tree of Squad's that of the repository. */
  root: string;
  /** What names the repository, for all its checkouts and work trees. */
  repository: string;
}

/** How a work tree and its branch are, as git and the disk tell. */
export interface WorktreeState {
  /** `missing`: somebody removed its folder. `foreign`: something else is there. */
  folder: 'there' | 'missing' | 'foreign';
  /** The branch's tip; null: there is no such branch. */
  tip: string | null;
  /** Commits the base has not; null: cannot be told. */
  ahead: number | null;
  /** Everything on the branch is in the base branch as it is now; null: there is none to compare with. */
  isMerged: boolean | null;
  /** Files that differ from the tip, untracked ones counted; null: cannot be told. */
  uncommitted: number | null;
  /** Processes that have their working folder in it. */
  processes: { pid: number; command: string }[];
  /** Why it cannot be removed as it is, with what to do about that. */
  held: string | null;
  /** Why removing it would copy so much that the user has to decide, with what to do about that. */
  large: string | null;
  /** Why something cannot be told. */
  trouble: string | null;
}

/** What is left of a work tree that may be gone. */
export interface WorktreeRemains {
  /** Its folder is, whole. */
  isThere: boolean;
  /** The branch's; null: there is no such branch, or no repository. */
  tip: string | null;
  /** Refs that hold what was not committed when it was removed, the newest last. */
  saved: string[];
}

export interface RemoveOptions {
  dropEmptyBranch: boolean;
  /** Also copies hundreds of megabytes that are not committed into the repository, instead of keeping the work tree. */
  saveLarge?: boolean;
}

export type Removal =
  | { outcome: 'removed'; savedRef: string | null; branchIsGone: boolean }
  /** Its folder was not there any more; what git still knew of it was put in order. */
  | { outcome: 'gone'; branchIsGone: boolean }
  | { outcome: 'kept'; why: string };

/**
 * Work trees for runs. Whatever changes a repository is done one at a time for each, so that nobody meets a lock of git's.
 * Nothing of the repository's or the user's configuration is run on the way.
 */
export interface Worktrees {
  /** Looks, and changes nothing. Throws NOT_A_REPOSITORY, REPOSITORY_UNSUITABLE, BRANCH_EXISTS, GIT_FAILED. */
  plan(ask: WorktreeAsk): Promise<PlannedWorktree>;
  /**
   * Makes it unless it is there whole, and in it the folder the agent is to work in, should the commit not have it. Throws
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
  /** The repository it is of, by the name that `checkout` gives. Null: that is gone. */
  repositoryOf(worktree: Worktree): Promise<string | null>;
  /** One short git process. Throws GIT_FAILED. */
  remains(worktree: Worktree): Promise<WorktreeRemains>;
  /** Puts its branch back at this commit. False: the commit is gone, too. Throws GIT_FAILED. */
  restoreBranch(worktree: Worktree, commit: string): Promise<boolean>;
  /** What its folder takes on the disk. */
  bytes(worktree: Worktree): Promise<number>;
  /**
   * Never loses work: what is not committed is kept under a ref first, and in doubt the work tree stays. The branch goes only
   * when asked to and when it has nothing of its own. The caller knows that no run is at work in it.
   */
  remove(worktree: Worktree, how: RemoveOptions): Promise<Removal>;
  /** Folders where work trees are kept that no run is known for. */
  strays(known: readonly Worktree[]): Promise<string[]>;
}

/**
 * Changes of a work tree's branch, made in two steps: first a commit that nothing points to, then the branch goes there.
 * All of it beside an agent that may be at work in the same tree.
 */
export interface Branches {
  /** The branch's tip. Throws WORKTREE_MISSING, GIT_FAILED. */
  tip(worktree: Worktree): Promise<string>;
  /** Everything that is not committed, as a commit on the tip; null: there is nothing. Throws UNCOMMITTABLE. */
  prepareAll(worktree: Worktree, message: string): Promise<BranchMove | null>;
  /** One file with this text, as a commit on the tip; null removes it, and is nothing to do where there is none. What the agent had in it and had not committed comes before it as a commit of its own. Throws FEEDBACK_FAILED. */
  prepareFile(
    worktree: Worktree,
    file: { path: string; text: string | null },
    message: string,
  ): Promise<BranchMove | null>;
  /** Moves the branch, and the index with it; with `path` only that file in index and folder, else nothing in the folder. Done twice it does nothing. Throws BRANCH_MOVED, and GIT_BUSY when another git is at work in the folder for longer than `patienceMs`. */
  apply(worktree: Worktree, move: BranchMove, path?: string, patienceMs?: number): Promise<void>;
  /** As it was before `apply` (with the same `path`), the work uncommitted again; nothing where it was not applied, or where the branch went on. */
  undo(worktree: Worktree, move: BranchMove, path?: string, patienceMs?: number): Promise<void>;
}
