import type { RunId } from '../../schema/ids.ts';
import type { Leftover } from '../../schema/run.ts';
import type { NetworkAccess } from '../../schema/sandbox.ts';

/** A program to start, without a shell. */
export interface Command {
  argv: [string, ...string[]];
  /** File for standard input; null: /dev/null. */
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
  /** As a shell reports it: 128 + n for signal n. Null: nobody saw the exit. */
  exitCode: number | null;
  /** The shell's own message when it could not start the program. */
  spawnError: string | null;
  /** Processes that the agent left behind and Squad ended; empty after a stop, which ends all of them. */
  leftovers: Leftover[];
  /** When the wrapper saw the exit, or when the turn was found gone. */
  endedAt: number;
}

export interface LiveTurn {
  pid: number;
  /** Resolves when the exit was seen or the whole process tree is proven gone. Never rejects. */
  ended: Promise<TurnEnd>;
  /** Sends TERM, then KILL after the grace period, to every process of the turn. Idempotent. */
  stop(graceMs: number): void;
  /** Reads the process table, which is slow: only for turns without recent output. */
  processStats(): Promise<ProcessStats>;
}

/** State of a turn's processes at one moment, without the wrapper. */
export interface ProcessStats {
  /** The agent's own process exists and is no zombie. */
  alive: boolean;
  /** Stopped by a signal: SIGSTOP, or a terminal that it may not use. */
  stopped: boolean;
  /** CPU time of all of them, and of their children that have been waited for. */
  cpuMs: number;
  /** Bytes read and written; null: the system does not say. */
  ioBytes: number | null;
  processes: number;
}

/** State of a turn that an earlier hub started. */
export type FoundTurn =
  | { state: 'live'; turn: LiveTurn; startedAt: number }
  | { state: 'ended'; end: TurnEnd; startedAt: number }
  /** The wrapper never started the agent: safe to start. */
  | { state: 'never_started' }
  /** It was started; neither a process nor an exit record is left. */
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
  /** Throws SPAWN_FAILED when not even the wrapper can be started. */
  start(turn: TurnStart, options: TurnOptions): Promise<LiveTurn>;
  /** Cheap. False: no wrapper has taken the folder and none that could is alive, so `find` would return `never_started`. */
  hasBegun(turn: TurnRef): Promise<boolean>;
  find(turn: TurnRef, options: TurnOptions): Promise<FoundTurn>;
  /** Null: a turn with this network can be confined. Proven once per process, then cheap. `start` refuses what has a problem. */
  sandboxProblem(network: NetworkAccess): Promise<SandboxProblem | null>;
  /** A command that starts this one in its sandbox, for a terminal. Throws when it cannot be confined. */
  confined(turn: Omit<TurnStart, 'hardLimitMs'> & { sandbox: TurnSandbox }): Promise<Command>;
}
