import type { Worktree } from '../../schema/worktree.ts';

/** What a work tree has changed since it left its base branch, committed or not; renamed files by both names. */
export type Touched = { files: string[]; why: null } | { files: null; why: string };

export interface BranchTip {
  tip: string;
  /** Everything on it is in the target. */
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
  /** The commit that merges it, and how many files that changes. */
  | { outcome: 'merged'; commit: string; files: number }
  | { outcome: 'nothing' }
  | { outcome: 'conflict'; files: string[]; messages: string[] };

export interface Trial {
  /** The last of the merges; where none could be made, what they were to be made on. */
  result: string;
  /** In the order of the branches. */
  outcomes: TrialOutcome[];
}

/** A branch that is to go to a commit, with the folder that has it checked out, if one has. */
export interface TargetMove {
  repository: string;
  target: string;
  from: string;
  to: string;
  folder: string | null;
}

/** What a folder that is to follow says to it. */
export interface FolderFit {
  /** Why it cannot follow. */
  obstacles: string[];
  warnings: string[];
}

/** Between any two steps of a change: tests end the process there. */
export type Checkpoint = (name: string) => void;

/** Merging the branches of runs. Nothing of the repository's or the user's configuration is run on the way. */
export interface Integration {
  /** In the order of the work trees. Never rejects. */
  touched(worktrees: readonly Worktree[]): Promise<Touched[]>;
  /** All branches of runs there are, against `into`; null: whether they are merged is not asked. */
  tips(repository: string, into: string | null): Promise<Map<string, BranchTip>>;
  /** Throws INVALID_INPUT where there is no such branch. */
  target(repository: string, branch: string): Promise<Target>;
  /** One after another onto the growing result. Makes objects that nothing points to, and changes nothing else. */
  trial(
    repository: string,
    onto: { commit: string; branch: string },
    branches: readonly TrialBranch[],
    signal?: AbortSignal,
  ): Promise<Trial>;
  fit(move: TargetMove): Promise<FolderFit>;
  /** What is not as it should be afterwards. Throws BRANCH_MOVED, TARGET_BLOCKED, GIT_FAILED; then `settle` says how far it went. */
  move(move: TargetMove, checkpoint: Checkpoint): Promise<string[]>;
  /** After a move that did not come to its end: finishes it if the branch had moved. Done twice it does nothing. */
  settle(move: TargetMove): Promise<{ moved: boolean; notes: string[] }>;
  /** Lets go of what was kept of a work tree that held nobody's work. */
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
  /** The end of what it printed. */
  output: string;
  durationMs: number;
}

/** Runs a command of the user's on what is about to be merged; whatever it started ends with it. */
export type RunCheck = (ask: CheckAsk) => Promise<CheckEnd>;
