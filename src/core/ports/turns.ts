import type { RunId } from '../../schema/ids.ts';
import type { Leftover } from '../../schema/run.ts';
import type { NetworkAccess } from '../../schema/sandbox.ts';

/** A program to start, without a shell. */
export interface Command {
  argv: [string, ...string[]];
  /** File for standard input. With null /dev/null is used. */
  stdin: string | null;
  env: Record<string, string>;
  /**
   * True if standard input is the turn's input file, which can grow while the turn runs. The engine's `driver` creates
   * the lines of that file.
   */
  isFed?: true;
}

export interface TurnRef {
  runId: RunId;
  number: number;
}

/** A turn with the machine of its run. */
export interface PlacedTurn extends TurnRef {
  /** Null for the hub's own machine. */
  machine: string | null;
}

/** A file or folder that exists in a sandbox. */
export interface Mount {
  /** Path inside the sandbox. */
  path: string;
  /** Path outside the sandbox. Null for an empty folder in memory. */
  from: string | null;
  access: 'read' | 'write';
  /** True if a missing path is left out. Otherwise the turn cannot start without it. */
  isOptional?: boolean;
  /**
   * True if an agent may be able to put links into the path `from`. The mount is then made only without links, also if
   * one is put there meanwhile.
   */
  isWithoutLinks?: boolean;
}

/** How a turn is sandboxed. Parts that every sandbox has (system folders, private /tmp, namespaces) are not listed. */
export interface TurnSandbox {
  /** Mounts in order. Later mounts cover earlier ones. */
  mounts: Mount[];
  /** The agent's HOME inside the sandbox. It is also in `mounts`. */
  home: string;
  network: NetworkAccess;
  /** Hosts that can be reached unless `network` is `full`. */
  hosts: string[];
}

export interface TurnStart extends PlacedTurn {
  command: Command;
  cwd: string;
  /** Null if the agent runs without a sandbox, with all rights of the user. */
  sandbox: TurnSandbox | null;
  /** Time after which the wrapper ends the whole process group, even without a hub. */
  hardLimitMs: number;
  /** Folder of files that the engine keeps with the chat. They travel to another machine. */
  chatFolder: string;
}

export interface TurnEnd {
  /** Exit code as a shell reports it: 128 + n for signal n. Null if the exit was not observed. */
  exitCode: number | null;
  /** Message of the shell when it could not start the program. Null if it could. */
  spawnError: string | null;
  /** Processes that the agent left behind and Squad terminated. Empty after a stop, which terminates all of them. */
  leftovers: Leftover[];
  /** Time at which the wrapper observed the exit, or at which the turn was found gone. */
  endedAt: number;
  /** Why the exit was not observed, as a sentence (default: the process is gone). */
  lost?: string;
  /** True if another agent may continue the work. The machine has ended this agent, or can no longer be running it. */
  canTakeOver?: boolean;
}

export interface LiveTurn {
  pid: number;
  /** Resolves when the exit was observed or the whole process tree is proven gone. Never rejects. */
  ended: Promise<TurnEnd>;
  /** Sends TERM, then KILL after the grace period, to every process of the turn. Idempotent. */
  stop(graceMs: number): void;
  /** Closes the standard input of a fed turn, so that the agent exits. Absent for turns on another machine. */
  endInput?(): Promise<void>;
  /** Reads the process table, which is slow, so it is only for turns without recent output. */
  processStats(): Promise<ProcessStats>;
  /** True if the machine of the turn does not answer, so that the state of the turn is unknown. */
  isAway?(): boolean;
}

/** State of a turn's processes at one moment, excluding the wrapper. */
export interface ProcessStats {
  /** True if the agent's own process exists and is not a zombie. */
  alive: boolean;
  /** True if the agent was stopped by a signal such as SIGSTOP, or because it used a terminal that it may not use. */
  stopped: boolean;
  /** CPU time of all processes, including children that have been waited for. */
  cpuMs: number;
  /** Bytes read and written. Null if the system does not report it. */
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
  /**
   * Whether processes that the agent left behind keep running. Without effect in a sandbox, where nothing outlives the
   * agent.
   */
  keepLeftovers: boolean;
  /**
   * True if another agent takes over when the turn's machine does not come back. The turn's own agent is then ended
   * when its lease expires.
   */
  isLeased?: boolean;
  /** Only for `find`: true to start the turn if its machine never received the earlier hub's request. */
  startsAgain?: boolean;
}

export interface Executor {
  /** Starts a turn. Throws SPAWN_FAILED when not even the wrapper can be started. */
  start(turn: TurnStart, options: TurnOptions): Promise<LiveTurn>;
  /**
   * Cheap check whether a turn was started. False if no wrapper has claimed the folder and no running wrapper could, so
   * that `find` would return `never_started`.
   */
  hasBegun(turn: PlacedTurn): Promise<boolean>;
  find(turn: PlacedTurn, options: TurnOptions): Promise<FoundTurn>;
  /**
   * Why a turn with this network cannot be sandboxed. Null if it can. Checked once per process, then cheap. `start`
   * refuses a turn that has such a problem.
   */
  sandboxProblem(network: NetworkAccess): Promise<SandboxProblem | null>;
  /** Wraps a command so that a terminal starts it in its sandbox. Throws when it cannot be sandboxed. */
  confined(
    turn: Omit<TurnStart, 'hardLimitMs' | 'machine' | 'chatFolder'> & { sandbox: TurnSandbox },
  ): Promise<Command>;
}
