import type { Worktree } from '../../schema/worktree.ts';

/** Files that a work tree has changed since it left its base branch, committed or not; renamed files under both names. */
export type Touched = { files: string[]; why: null } | { files: null; why: string };

export interface BranchTip {
  tip: string;
  /** All its commits are in the target. */
  isMerged: boolean;
}

export interface Target {
  commit: string;
  /** Roots of the work trees that have it checked out. */
  checkedOutAt: string[];
}

export interface TrialBranch {
  branch: string;
  tip: string;
  message: string;
}

export type TrialOutcome =
  /** The merge commit, and how many files it changes. */
  | { outcome: 'merged'; commit: string; files: number }
  | { outcome: 'nothing' }
  | { outcome: 'conflict'; files: string[]; messages: string[] };

export interface Trial {
  /** The last merge commit; the starting commit if nothing could be merged. */
  result: string;
  /** In the order of the branches. */
  outcomes: TrialOutcome[];
}

/** A branch that is to move to a commit, and the folder that has it checked out, if any. */
export interface TargetMove {
  repository: string;
  target: string;
  from: string;
  to: string;
  folder: string | null;
}

/** Whether a folder can follow its branch to the new commit. */
export interface FolderFit {
  /** Reasons why it cannot. */
  obstacles: string[];
  warnings: string[];
}

/** Called between any two steps of a change, so that tests can end the process there. */
export type Checkpoint = (name: string) => void;

/** Merges the branches of runs. Runs nothing that the repository or the user configured. */
export interface Integration {
  /** In the order of the work trees. Never rejects. */
  touched(worktrees: readonly Worktree[]): Promise<Touched[]>;
  /** All branches of runs. `isMerged` is about `into`; null: not checked. */
  tips(repository: string, into: string | null): Promise<Map<string, BranchTip>>;
  /** Throws INVALID_INPUT if there is no such branch. */
  target(repository: string, branch: string): Promise<Target>;
  /** Merges one branch after another onto the result so far. Only creates objects that nothing refers to. */
  trial(
    repository: string,
    onto: { commit: string; branch: string },
    branches: readonly TrialBranch[],
    signal?: AbortSignal,
  ): Promise<Trial>;
  fit(move: TargetMove): Promise<FolderFit>;
  /** Returns warnings. Throws BRANCH_MOVED, TARGET_BLOCKED, GIT_FAILED; then `settle` says how far it got. */
  move(move: TargetMove, checkpoint: Checkpoint): Promise<string[]>;
  /** After an interrupted move: completes it if the branch had moved. Idempotent. */
  settle(move: TargetMove): Promise<{ moved: boolean; notes: string[] }>;
  /** Removes the ref of a saved work tree that held no work. */
  dropRef(repository: string, ref: string): Promise<void>;
}

export interface CheckAsk {
  argv: [string, ...string[]];
  cwd: string;
  env: Record<string, string>;
  limitMs: number;
  signal?: AbortSignal;
}

export interface CheckEnd {
  outcome: 'passed' | 'failed' | 'timeout' | 'not_started';
  exitCode: number | null;
  /** The end of its output. */
  output: string;
  durationMs: number;
}

/** Runs the user's check command on the merge result; its child processes end with it. */
export type RunCheck = (ask: CheckAsk) => Promise<CheckEnd>;
