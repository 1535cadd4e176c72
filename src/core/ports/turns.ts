import type { RunId } from '../../schema/ids.ts';
import type { Leftover } from '../../schema/run.ts';

/** A program to start: no shell, one value one argument. */
export interface Command {
  argv: [string, ...string[]];
  /** A file given as standard input; null is /dev/null. */
  stdin: string | null;
  env: Record<string, string>;
}

export interface TurnRef {
  runId: RunId;
  number: number;
}

export interface TurnStart extends TurnRef {
  command: Command;
  cwd: string;
  /** The wrapper ends the whole group this long after the start even if no hub is alive. */
  hardLimitMs: number;
}

export interface TurnEnd {
  /** As a shell says it: 128 + n for signal n. Null when nobody saw the exit. */
  exitCode: number | null;
  /** The shell could not start the program: its own words. */
  spawnError: string | null;
  /** What the turn left behind after its own end and Squad ended; empty after a stop, which is the end of all of it. */
  leftovers: Leftover[];
  /** When the wrapper saw the exit, or when it was found gone. */
  endedAt: number;
}

export interface LiveTurn {
  pid: number;
  /** Settles once the turn is over: its exit was seen, or its whole tree is proven gone. Never rejects. */
  ended: Promise<TurnEnd>;
  /** TERM, grace, KILL, to everything that belongs to the turn. Idempotent. */
  stop(graceMs: number): void;
  /** What its processes do just now. Costs a look at the process table: for turns that have been quiet. */
  vitals(): Promise<ProcessStats>;
}

/** What a turn's processes show at one moment, the wrapper around them left out. */
export interface ProcessStats {
  /** The agent's own process is there and not a zombie. */
  alive: boolean;
  /** It is held by a signal (SIGSTOP, or a terminal it may not use). */
  stopped: boolean;
  /** Used so far by all of them and by those they have waited for. */
  cpuMs: number;
  /** Read and written so far; null where the system does not say. */
  ioBytes: number | null;
  processes: number;
}

/** What a turn left on disk, as the next hub finds it. */
export type FoundTurn =
  | { state: 'live'; turn: LiveTurn; startedAt: number }
  | { state: 'ended'; end: TurnEnd; startedAt: number }
  /** Its wrapper never got as far as starting the agent: safe to start. */
  | { state: 'never_started' }
  /** It was started; no process and no exit record are left. */
  | { state: 'gone'; end: TurnEnd; startedAt: number };

export interface TurnOptions {
  keepLeftovers: boolean;
}

export interface Executor {
  /** Throws SPAWN_FAILED when not even the wrapper can be started. */
  start(turn: TurnStart, options: TurnOptions): Promise<LiveTurn>;
  /** Costs little. False: no wrapper took its folder and none that might is alive, so `find` would find it never started. */
  hasBegun(turn: TurnRef): Promise<boolean>;
  find(turn: TurnRef, options: TurnOptions): Promise<FoundTurn>;
}
