import type { ProcessStats } from '../process/turns/process-stats.ts';

/**
 * Hub and runner come from one build, so their versions match. The number detects a runner that was changed on the box.
 */
export const PROTOCOL = 1;

/**
 * Names and number of files that the hub fetches from a turn's folder are limited, because an agent can write any
 * file there.
 */
export const FILE_NAME = /^\w[\w.-]{0,200}$/;
export const MAX_FILES = 100;

/** First line of a runner. Lines before it are output of a shell profile. */
export interface Hello {
  squad: 'runner';
  protocol: number;
  /** Identifies the box for as long as its folder exists. */
  machine: string;
  /** Folder of this hub on the box. Turns, chats and work trees are below it. */
  base: string;
  node: string;
  /** Folder of the programs that the hub sent. */
  programs: string;
  os: string;
  cpus: number;
  /** Current time of the box. */
  now: number;
  /** Boot clock of the box, in seconds. The ends of leases are given in this clock. */
  boot: number;
}

export interface TurnId {
  runId: string;
  number: number;
}

/** Path below `base`. */
export interface SentFile {
  path: string;
  text: string;
}

export interface RemoteStart extends TurnId {
  argv: string[];
  /** Path below `base`, or an absolute path. */
  stdin: string | null;
  env: Record<string, string>;
  cwd: string;
  hardLimitMs: number;
  keepLeftovers: boolean;
  files: SentFile[];
  /**
   * The wrapper ends the turn at `until`, in seconds of the boot clock, unless a `ping` extends the lease. Null if only
   * the time limit ends the turn.
   */
  lease: { until: number; ms: number } | null;
}

/** Requests of the hub. A request is sent again when its answer was lost, so every operation must be idempotent. */
export interface Ops {
  /**
   * `leases` lists turns that may run until a time of the box's boot clock, which the hub calculates from an earlier
   * answer. A late request therefore extends no lease beyond the end that the hub knows.
   */
  ping: { ask: { leases?: (TurnId & { until: number })[] }; answer: { now: number; boot: number } };
  /** `clis` lists program names, each with the command that prints its version. */
  probe: { ask: { clis: { cli: string; programs: string[] }[] }; answer: Probe };
  start: { ask: { turn: RemoteStart }; answer: TurnState };
  find: { ask: { turn: TurnId; keepLeftovers: boolean }; answer: TurnState };
  /**
   * Waits up to `waitMs` for output after these offsets, or for the end of the turn. The body is output of `stream`.
   */
  read: {
    ask: {
      turn: TurnId;
      keepLeftovers: boolean;
      from: { stdout: number; stderr: number };
      max: number;
      waitMs: number;
    };
    answer: { stream?: 'stdout' | 'stderr'; state?: TurnState };
  };
  stop: { ask: { turn: TurnId; graceMs: number }; answer: object };
  stats: { ask: { turn: TurnId }; answer: { stats: ProcessStats | null } };
  /** Names of files in the turn's folder that its program wrote. */
  wrote: { ask: { turn: TurnId }; answer: { names: string[] } };
  /** Up to `max` bytes of a file below `base`, as the body; a negative `from` counts from the end. */
  get: { ask: { path: string; from: number; max: number }; answer: { size: number } };
  /** Writes the body at an offset of a file in the transfer folder. */
  put: { ask: { name: string; at: number }; answer: object };
  /** Opens the port at which agents reach Squad. */
  door: { ask: object; answer: { port: number } };
  /** Returns the commits of a repository that exist on the box. */
  haves: { ask: { repo: string }; answer: { commits: string[] } };
  checkout: {
    ask: {
      repo: string;
      worktree: string;
      branch: string;
      ref: string;
      tip: string;
      work: string;
      /** Commits of this work tree that the hub has. */
      have: string[];
      /** Name of a transferred file. */
      bundle: string | null;
      author: { name: string; email: string };
      setup: { argv: string[]; timeoutMs: number } | null;
    };
    /**
     * `kept` is a ref on the box with work that was replaced and that the hub does not have. Null if there is none.
     */
    answer: { kept: string | null };
  };
  collect: {
    ask: { worktree: string; ref: string; have: string[] };
    /** `bundle`: path below `base`. */
    answer: { tip: string; work: string; bundle: string | null; size: number };
  };
  /**
   * Removes all runs and work trees of this hub that are not listed, after ending their agents. The request is never
   * sent twice.
   */
  keep: { ask: { runs: string[]; worktrees: string[] }; answer: object };
}

export type OpName = keyof Ops;

export interface Probe {
  clis: { cli: string; program: string; version: string | null }[];
  git: string | null;
  node: string;
  diskFreeBytes: number | null;
  now: number;
}

/** Same shape as the core's type `FoundTurn`, without its process. */
export interface TurnState {
  state: 'live' | 'ended' | 'gone' | 'never_started';
  pid: number;
  startedAt: number;
  end: TurnEndState | null;
}

export interface TurnEndState {
  exitCode: number | null;
  spawnError: string | null;
  leftovers: { pid: number; command: string }[];
  endedAt: number;
  /** True if the turn ended because its lease had expired. */
  lapsed: boolean;
}
