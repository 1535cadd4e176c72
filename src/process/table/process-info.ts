/** A process as the system lists it. A pid can be reused, but a pid together with its start time is unique. */
export interface ProcessInfo {
  pid: number;
  ppid: number;
  pgid: number;
  /** Session id. Null where the system does not report it. */
  sid: number | null;
  /** Opaque value. It can only be compared with another start time of the same pid. */
  startTime: string;
  /** The start time on the wall clock, as precisely as the system reports it. */
  startedAt: number;
  /** Short name of the program. The full command line is read only for processes that are reported. */
  name: string;
  /** Stopped by a signal or by a debugger. */
  isStopped: boolean;
  /** Processor time of the process and of the children that it has waited for. */
  cpuMs: number;
}

/**
 * Turn or service that a process belongs to, according to the environment that it was started with or to the output
 * file that it holds open.
 */
export interface Tag {
  /** Null for a process of a service. */
  runId: string | null;
  /** Null when the process has the run's mark but not the turn's. */
  turn: string | null;
  service?: string;
}

export const RUN_VARIABLE = 'SQUAD_RUN_ID';
export const TURN_VARIABLE = 'SQUAD_TURN';
/** Mark in the environment of MCP servers and of everything that they start. */
export const SERVICE_VARIABLE = 'SQUAD_UPSTREAM';
/**
 * Run that an MCP server was started for. The server ends with that run, but belongs to no turn and has no turn mark.
 */
export const SERVER_OF_VARIABLE = 'SQUAD_SERVER_OF';

/** Reads the mark in the environment of a process. A run's mark takes precedence over a service's. */
export function tagOf(variable: (name: string) => string | null): Tag | null {
  const runId = variable(RUN_VARIABLE);
  if (runId) return { runId, turn: variable(TURN_VARIABLE) };
  const service = variable(SERVICE_VARIABLE);
  return service ? { runId: null, turn: null, service } : null;
}

/** Source of process facts: `/proc` on Linux, `ps` elsewhere. Zombies are not listed. */
export interface ProcessSource {
  list(): Promise<ProcessInfo[]>;
  /** The process, its parent, and so on upwards. Empty when the process is gone or belongs to another user. */
  line(pid: number): Promise<ProcessInfo[]>;
  /** Tags by pid, for processes that have a tag. */
  tags(processes: readonly ProcessInfo[]): Promise<Map<number, Tag>>;
  /** Whether this process is still running. A new process with the same pid does not count. */
  alive(process: Pick<ProcessInfo, 'pid' | 'startTime'>): boolean;
  command(process: ProcessInfo): Promise<string>;
  /**
   * Bytes read and written so far through files, pipes and most sockets. Null where the system does not report them.
   */
  ioBytes(process: ProcessInfo): number | null;
  /** Number of processes and threads that were ever started. Null where the system does not report it. */
  countStarted?(): number | null;
  /**
   * Processes, with their tags, that were started after the process `pid`, when `countStarted` returned `count`. Null
   * when this is unknown, or when there are so many that a full list is cheaper.
   */
  listAfter?(pid: number, count: number): [ProcessInfo[], Map<number, Tag>] | null;
}
