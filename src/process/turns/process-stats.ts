import { agentIn } from '../table/kill-tree.ts';
import type { ProcessInfo } from '../table/process-info.ts';
import type { ProcessTable } from '../table/process-table.ts';
import type { TurnTree } from './turn-tree.ts';

/** Same shape as the core's type `ProcessStats`. */
export interface ProcessStats {
  alive: boolean;
  stopped: boolean;
  cpuMs: number;
  ioBytes: number | null;
  processes: number;
}

/**
 * CPU time and I/O of the agent and its descendants. The wrapper, its watchdog and the feed are left out, because
 * they only wait.
 */
export async function readProcessStats(
  table: ProcessTable,
  tree: TurnTree,
  feed: number | null = null,
): Promise<ProcessStats> {
  const { wrapper, others } = await tree.members();
  const waiting = wrapper ? await watchdogOf(table, wrapper, others) : new Set<ProcessInfo>();
  const working = others.filter(each => !waiting.has(each) && each.pid !== feed);
  const outer = wrapper && working.find(({ ppid }) => ppid === wrapper.pid);
  const agent = outer && (agentIn(outer, working) ?? outer);
  const io = working.map(each => table.ioBytes(each)).filter(bytes => bytes !== null);
  return {
    alive: agent !== undefined && agent !== null,
    // A stopped wrapper cannot notice the agent's end.
    stopped: agent?.isStopped === true || wrapper?.isStopped === true,
    cpuMs: working.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    ioBytes: io.length > 0 ? io.reduce((sum, bytes) => sum + bytes, 0) : null,
    processes: working.length,
  };
}

/** The watchdog is a fork of the wrapper with the same command line. Its only child is `sleep`. */
async function watchdogOf(
  table: ProcessTable,
  wrapper: ProcessInfo,
  others: ProcessInfo[],
): Promise<Set<ProcessInfo>> {
  const own = await table.command(wrapper);
  const children = others.filter(({ ppid }) => ppid === wrapper.pid);
  const commands = await Promise.all(children.map(each => table.command(each)));
  const forks = new Set(children.filter((_, index) => commands[index] === own).map(({ pid }) => pid));
  return new Set(others.filter(({ pid, ppid }) => forks.has(pid) || forks.has(ppid)));
}
