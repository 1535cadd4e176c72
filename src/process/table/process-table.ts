import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import type { TurnKey } from '../turns/turn-record.ts';
import { createProcSource } from './proc-source.ts';
import type { ProcessInfo, ProcessSource, Tag } from './process-info.ts';
import { createPsSource } from './ps-source.ts';

/** All processes at one moment. */
export interface Snapshot {
  get(pid: number): ProcessInfo | undefined;
  children(pid: number): readonly ProcessInfo[];
  /** Processes in the process group, or the session, that `pid` leads or led. */
  group(pid: number): readonly ProcessInfo[];
  /** Processes that show the mark of the turn, or of the service. */
  tagged(mark: Mark): ProcessInfo[];
  /** Every service of which something is left. */
  services(): string[];
}

export type Mark = TurnKey | { service: string };

export interface ProcessTable {
  /** All processes at a moment after the call. Callers that wait at the same time share it. */
  snapshot(): Promise<Snapshot>;
  /** For `snapshotAfter`: a process has just started. Null where the system cannot tell old processes from new ones. */
  countStarted(): number | null;
  /** Only processes that were started after the process `pid`, at little cost. Null: take a snapshot. */
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
    // With very many processes, or many callers, scans must leave time for other work.
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
        return null; // a shortage, of descriptors say: the snapshot waits until it has passed
      }
    },
    alive: source.alive,
    command: source.command,
    ioBytes: source.ioBytes,
  };
}

/** A shortage, of descriptors say, passes; to take it for an empty table would be to call living processes gone. */
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
