/** One process as the system lists it. A pid can be used again; a pid with its start time cannot. */
export interface ProcessInfo {
  pid: number;
  ppid: number;
  pgid: number;
  /** Null where the system does not say. */
  sid: number | null;
  /** Opaque: only good for comparing with another start time of the same pid. */
  startTime: string;
  /** The same moment on the wall clock, as near as the system tells. */
  startedAt: number;
  /** The program's short name; the whole command line is read only for the few that are reported. */
  name: string;
  /** Held by a signal, or by a debugger. */
  isStopped: boolean;
  /** Processor time so far, its own and that of the children it has waited for. */
  cpuMs: number;
}

/** Which turn, or which service, a process shows it belongs to: by the environment it was started with, or by the output it holds. */
export interface Tag {
  /** Null for what belongs to a service. */
  runId: string | null;
  /** Null when the process shows the run's mark but not the turn's. */
  turn: string | null;
  service?: string;
}

export const RUN_VARIABLE = 'SQUAD_RUN_ID';
export const TURN_VARIABLE = 'SQUAD_TURN';
/** The mark of other MCP servers, and of all that they start. */
export const SERVICE_VARIABLE = 'SQUAD_UPSTREAM';
/** The run that a server is for alone. It ends with that run, but is no part of a turn: it has no mark of one. */
export const SERVER_OF_VARIABLE = 'SQUAD_SERVER_OF';

/** Mark in the environment of a process. A run's mark counts more than a service's. */
export function tagOf(variable: (name: string) => string | null): Tag | null {
  const runId = variable(RUN_VARIABLE);
  if (runId) return { runId, turn: variable(TURN_VARIABLE) };
  const service = variable(SERVICE_VARIABLE);
  return service ? { runId: null, turn: null, service } : null;
}

/** Where the facts come from: `/proc` on Linux, `ps` elsewhere. A dead process that nobody reaped is not listed. */
export interface ProcessSource {
  list(): Promise<ProcessInfo[]>;
  /** This process, then its parent, and so on up; empty when it is not there, or another user's. */
  line(pid: number): Promise<ProcessInfo[]>;
  /** Tags, by pid, of those that have one. */
  tags(processes: readonly ProcessInfo[]): Promise<Map<number, Tag>>;
  /** Whether this very process, not just its number, is still there. */
  alive(process: Pick<ProcessInfo, 'pid' | 'startTime'>): boolean;
  command(process: ProcessInfo): Promise<string>;
  /** Bytes read and written so far, of files, pipes and most sockets; null where the system does not say. */
  ioBytes(process: ProcessInfo): number | null;
  /** How many processes and threads were ever started; null where the system does not say. */
  countStarted?(): number | null;
  /**
   * Processes, with their tags, that were started after the process `pid`, when `countStarted` said `count`. Null: unknown, or
   * more than are worth a list of their own.
   */
  listAfter?(pid: number, count: number): [ProcessInfo[], Map<number, Tag>] | null;
}
