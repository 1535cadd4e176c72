import type { Worktree } from '../../schema/worktree.ts';

/**
 * Files that a work tree has changed since it was forked from its base branch, committed or not; renamed files under
 * both names.
 */
export type Touched = { files: string[]; why: null } | { files: null; why: string };

export interface BranchTip {
  tip: string;
  /** True if all commits of the branch are in the target. */
  isMerged: boolean;
}

export interface Target {
  commit: string;
  /** Roots of the work trees in which the branch is checked out. */
  checkedOutAt: string[];
}

export interface TrialBranch {
  branch: string;
  tip: string;
  message: string;
}

/** Places in a file where both sides changed the same lines, with Git's conflict markers. */
export interface ConflictHunk {
  path: string;
  text: string;
}

export type TrialOutcome =
  /** Commit of the merge, and the number of files that it changes. */
  | { outcome: 'merged'; commit: string; files: number }
  | { outcome: 'nothing' }
  | { outcome: 'conflict'; files: string[]; messages: string[]; hunks: ConflictHunk[] };

export interface Trial {
  /** The last merge commit; the starting commit if nothing could be merged. */
  result: string;
  /** Outcomes in the order of the branches. */
  outcomes: TrialOutcome[];
}

/** A branch that is to move to a commit, and the folder in which it is checked out, if any. */
export interface TargetMove {
  repository: string;
  target: string;
  from: string;
  to: string;
  folder: string | null;
}

/** Whether a folder can be updated when its branch moves to the new commit. */
export interface FolderFit {
  /** Reasons why the folder cannot be updated. */
  obstacles: string[];
  warnings: string[];
}

/** Called between any two steps of a change, so that tests can end the process there. */
export type Checkpoint = (name: string) => void;

/** Merges the branches of runs. Runs no program that the repository or the user configured. */
export interface Integration {
  /** Changed files, in the order of the work trees. Never rejects. */
  touched(worktrees: readonly Worktree[]): Promise<Touched[]>;
  /**
   * All branches of runs. `isMerged` tells whether a branch is merged into `into`. With `into` null this is not
   * checked.
   */
  tips(repository: string, into: string | null): Promise<Map<string, BranchTip>>;
  /** The target branch. Throws INVALID_INPUT if there is no such branch. */
  target(repository: string, branch: string): Promise<Target>;
  /** Merges one branch after another onto the result so far. Creates only objects that nothing refers to. */
  trial(
    repository: string,
    onto: { commit: string; branch: string },
    branches: readonly TrialBranch[],
    signal?: AbortSignal,
  ): Promise<Trial>;
  fit(move: TargetMove): Promise<FolderFit>;
  /**
   * Carries out a move and returns warnings. Throws BRANCH_MOVED, TARGET_BLOCKED or GIT_FAILED. Then `settle` finds out
   * how far it got.
   */
  move(move: TargetMove, checkpoint: Checkpoint): Promise<string[]>;
  /** Called after an interrupted move: completes it if the branch had moved. Idempotent. */
  settle(move: TargetMove): Promise<{ moved: boolean; notes: string[] }>;
  /** Removes the ref of a saved work tree that contained no work. */
  dropRef(repository: string, ref: string): Promise<void>;
}

export interface CheckAsk {
  argv: [string, ...string[]];
  cwd: string;
  env: Record<string, string>;
  limitMs: number;
  signal?: AbortSignal;
  /** Called when the command has started. The argument reads the end of the command's output so far. */
  onStart?(readOutput: () => Promise<string>): void;
}

export interface CheckEnd {
  outcome: 'passed' | 'failed' | 'timeout' | 'not_started';
  exitCode: number | null;
  /** End of the command's output. */
  output: string;
  durationMs: number;
}

/** Runs the user's check command on the merge result; its child processes end with it. */
export type RunCheck = (ask: CheckAsk) => Promise<CheckEnd>;
