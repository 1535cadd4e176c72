import type { RunId } from '../../schema/ids.ts';
import type { Leftover } from '../../schema/run.ts';
import type { NetworkAccess } from '../../schema/sandbox.ts';

/** A program to start, without a shell. */
export interface Command {
  argv: [string, ...string[]];
  /** File for standard input; null: /dev/null is used. */
  stdin: string | null;
  env: Record<string, string>;
}

export interface TurnRef {
  runId: RunId;
  number: number;
}

/** A file or folder that exists in a sandbox. */
export interface Mount {
  /** Path inside. */
  path: string;
  /** Path outside. Null: an empty folder in memory. */
  from: string | null;
  access: 'read' | 'write';
  /** True: left out if it does not exist outside. Otherwise the turn cannot start. */
  isOptional?: boolean;
}

/** How a turn is confined. What every sandbox has (system folders, private /tmp, namespaces) is not listed. */
export interface TurnSandbox {
  /** Later ones cover earlier ones. */
  mounts: Mount[];
  /** The agent's HOME inside. It is in `mounts`. */
  home: string;
  network: NetworkAccess;
  /** Hosts that can be reached unless `network` is `full`. */
  hosts: string[];
}

export interface TurnStart extends TurnRef {
  command: Command;
  cwd: string;
  /** Null: the agent has all rights of the user. */
  sandbox: TurnSandbox | null;
  /** The wrapper ends the whole process group this long after the start, even without a hub. */
  hardLimitMs: number;
}

export interface TurnEnd {
  /** Exit code as a shell reports it: 128 + n for signal n. Null: the exit was not observed. */
  exitCode: number | null;
  /** Message of the shell when it could not start the program; null if it could. */
  spawnError: string | null;
  /** Processes that the agent left behind and Squad terminated; empty after a stop, which terminates all of them. */
  leftovers: Leftover[];
  /** Time at which the wrapper observed the exit, or at which the turn was found gone. */
  endedAt: number;
}

export interface LiveTurn {
  pid: number;
  /** Resolves when the exit was observed or the whole process tree is proven gone. Never rejects. */
  ended: Promise<TurnEnd>;
  /** Sends TERM, then KILL after the grace period, to every process of the turn. Idempotent. */
  stop(graceMs: number): void;
  /** Reads the process table, which is slow, so it is only for turns without recent output. */
  processStats(): Promise<ProcessStats>;
}

/** State of a turn's processes at one moment, excluding the wrapper. */
export interface ProcessStats {
  /** True: the agent's own process exists and is no zombie. */
  alive: boolean;
  /** True: stopped by a signal such as SIGSTOP, or because it used a terminal that it may not use. */
  stopped: boolean;
  /** CPU time of all processes, including children that have been waited for. */
  cpuMs: number;
  /** Bytes read and written; null: the system does not report it. */
  ioBytes: number | null;
  processes: number;
}

/** State of a turn that an earlier hub started. */
export type FoundTurn =
  | { state: 'live'; turn: LiveTurn; startedAt: number }
  | { state: 'ended'; end: TurnEnd; startedAt: number }
  /** The wrapper never started the agent, so it is safe to start the turn. */
  | { state: 'never_started' }
  /** The turn was started, but neither a process nor an exit record is left. */
  | { state: 'gone'; end: TurnEnd; startedAt: number };

/** Why turns cannot be confined on this machine. */
export interface SandboxProblem {
  reason: string;
  suggestions: string[];
}

export interface TurnOptions {
  /** In a sandbox nothing outlives the agent, whatever this says. */
  keepLeftovers: boolean;
}

export interface Executor {
  /** Starts a turn. Throws SPAWN_FAILED when not even the wrapper can be started. */
  start(turn: TurnStart, options: TurnOptions): Promise<LiveTurn>;
  /**
   * A cheap check. False: no wrapper has claimed the folder and none that could is running, so `find` would return
   * `never_started`.
   */
  hasBegun(turn: TurnRef): Promise<boolean>;
  find(turn: TurnRef, options: TurnOptions): Promise<FoundTurn>;
  /** Null: a turn with this network can be confined. Proven once per process, then cheap. `start` refuses what has a problem. */
  sandboxProblem(network: NetworkAccess): Promise<SandboxProblem | null>;
  /** A command that starts this one in its sandbox, for a terminal. Throws when it cannot be confined. */
  confined(turn: Omit<TurnStart, 'hardLimitMs'> & { sandbox: TurnSandbox }): Promise<Command>;
}
