import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import type { TurnKey } from '../turns/turn-record.ts';
import { createProcSource } from './proc-source.ts';
import type { ProcessInfo, ProcessSource, Tag } from './process-info.ts';
import { createPsSource } from './ps-source.ts';

/** All processes at one moment. */
export interface Snapshot {
  get(pid: number): ProcessInfo | undefined;
  children(pid: number): readonly ProcessInfo[];
  /** Processes in the process group or session that `pid` leads or has led. */
  group(pid: number): readonly ProcessInfo[];
  /** Processes that have the mark of the turn or of the service. */
  tagged(mark: Mark): ProcessInfo[];
  /** Every service that still has a process. */
  services(): string[];
}

export type Mark = TurnKey | { service: string };

export interface ProcessTable {
  /** All processes at a moment after the call. Concurrent callers share one snapshot. */
  snapshot(): Promise<Snapshot>;
  /**
   * Count to pass to `snapshotAfter`, taken when a process has just started. Null where the system cannot distinguish
   * old processes from new ones.
   */
  countStarted(): number | null;
  /**
   * Cheap snapshot of only the processes that were started after `pid`. Null means that the caller must take a full
   * snapshot.
   */
  snapshotAfter(pid: number, count: number): Snapshot | null;
  alive(process: Pick<ProcessInfo, 'pid' | 'startTime'>): boolean;
  command(process: ProcessInfo): Promise<string>;
  ioBytes(process: ProcessInfo): number | null;
}

export function createProcessTable(
  source: ProcessSource = process.platform === 'linux' ? createProcSource() : createPsSource(),
): ProcessTable {
  let next: Promise<Snapshot> | null = null;
  let restUntil = 0;

  async function take(): Promise<Snapshot> {
    const rest = restUntil - performance.now();
    await (rest > 0 ? delay(rest) : immediate());
    next = null;
    const start = performance.now();
    const [processes, tags] = await read(source);
    const end = performance.now();
    // With very many processes or callers, pauses between scans leave time for other work.
    restUntil = end + Math.min(3 * (end - start), 200);
    return toSnapshot(processes, tags);
  }

  return {
    snapshot() {
      next ??= take();
      return next;
    },
    countStarted: () => source.countStarted?.() ?? null,
    snapshotAfter(pid, count) {
      try {
        const found = source.listAfter?.(pid, count);
        return found ? toSnapshot(...found) : null;
      } catch {
        return null; // a shortage, for example of file descriptors, is temporary: a full snapshot waits until it has passed
      }
    },
    alive: source.alive,
    command: source.command,
    ioBytes: source.ioBytes,
  };
}

/**
 * Retries, because a shortage, for example of file descriptors, is temporary. Treating it as an empty table would
 * report living processes as gone.
 */
async function read(source: ProcessSource, triesLeft = 50): Promise<[ProcessInfo[], Map<number, Tag>]> {
  try {
    const processes = await source.list();
    return [processes, await source.tags(processes)];
  } catch (error) {
    if (triesLeft === 0) throw error;
    await delay(100);
    return read(source, triesLeft - 1);
  }
}

function toSnapshot(processes: ProcessInfo[], tags: Map<number, Tag>): Snapshot {
  const byPid = new Map(processes.map(each => [each.pid, each]));
  const byParent = Map.groupBy(processes, each => each.ppid);
  const byGroup = Map.groupBy(processes, each => each.pgid);
  const bySession = Map.groupBy(processes, each => each.sid);
  const byRun = Map.groupBy(tags, ([, tag]) => tag.runId);
  const byService = Map.groupBy(tags, ([, tag]) => tag.service);

  function marked(mark: Mark): [number, Tag][] {
    if ('service' in mark) return byService.get(mark.service) ?? [];
    const ofRun = byRun.get(mark.runId) ?? [];
    return ofRun.filter(([, { turn }]) => turn === null || turn === String(mark.number));
  }

  return {
    get: pid => byPid.get(pid),
    children: pid => byParent.get(pid) ?? [],
    group: pid => [...new Set([...(byGroup.get(pid) ?? []), ...(bySession.get(pid) ?? [])])],
    tagged: mark => marked(mark).flatMap(([pid]) => byPid.get(pid) ?? []),
    services: () => [...byService.keys()].flatMap(service => service ?? []),
  };
}
