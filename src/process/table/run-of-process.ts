import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readWrapperPid, runFolder } from '../turns/turn-record.ts';
import { createProcSource } from './proc-source.ts';
import type { ProcessInfo, ProcessSource, Tag } from './process-info.ts';
import { createPsSource } from './ps-source.ts';

export interface ProcessRun {
  runId: string;
  /**
   * True when a wrapper of that run is an ancestor of the process. Otherwise only a mark in the environment names the
   * run, and any process can set that.
   */
  isProven: boolean;
}

/**
 * Finds the run whose process tree contains this process. Null if there is none, or if the process belongs to another
 * user.
 */
export type RunOfProcess = (pid: number) => Promise<ProcessRun | null>;

/**
 * Finds the run of a process. A wrapper among the ancestors decides, because no descendant can remove it by clearing
 * or changing its environment. An orphaned process is recognised by its session or by its own mark. A process that
 * has none of the three belongs to no run. Reads only the ancestors of the process, not the whole table.
 */
export function createRunOfProcess(
  runsDir: string,
  source: ProcessSource = process.platform === 'linux' ? createProcSource() : createPsSource(),
): RunOfProcess {
  return async pid => {
    const line = untilSquad(await source.line(pid));
    const [asker] = line;
    if (!asker) return null;
    const leader = asker.sid !== null && asker.sid > 1 ? (await source.line(asker.sid))[0] : undefined;
    const candidates = leader ? [...line, leader] : line;
    const tags = await source.tags(candidates);
    const marks = candidates.flatMap(each => tags.get(each.pid)?.runId ?? []);
    const wrapper = candidates.find(each => isWrapper(runsDir, each, tags.get(each.pid)));
    const runId = (wrapper && tags.get(wrapper.pid)?.runId) ?? marks[0];
    return runId === undefined ? null : { runId, isProven: wrapper !== undefined };
  };
}

/**
 * Tolerance for comparing start times: those of processes are precise to a tick, those of runs come from the wall
 * clock.
 */
const CLOCK_SLACK_MS = 1000;

/**
 * Whether this process was certainly not started by a run, when the first run began at `firstRunAt`. That is proven
 * if its session, or one of its ancestors, is older than the first run. No process can join an existing session.
 * Ancestors count only up to the first process that adopts orphans, which is a service manager or an ancestor of this
 * hub. Returns false if nothing is proven, for example in a terminal that was opened after the run began.
 */
export function createStartedByUser(
  source: ProcessSource = process.platform === 'linux' ? createProcSource() : createPsSource(),
): (pid: number, firstRunAt: number) => Promise<boolean> {
  return async (pid, firstRunAt) => {
    const aboveHub = new Set((await source.line(process.pid)).map(each => each.pid));
    const isOlder = (each: ProcessInfo | undefined) =>
      each !== undefined && each.startedAt < firstRunAt - CLOCK_SLACK_MS;
    for (const each of await source.line(pid)) {
      const mayAdopt = aboveHub.has(each.pid) || each.name === 'systemd';
      if (each.pid !== pid && mayAdopt) return false;
      if (isOlder(each)) return true;
      // A session id of 0 or 1 proves nothing: it belongs to a container's first process or to a process outside the
      // container.
      if (each.sid !== null && (each.sid <= 1 || isOlder((await source.line(each.sid))[0]))) return true;
    }
    return false;
  };
}

/**
 * Leaves out the ancestors of this hub. The hub itself may have been started inside a run, and its processes do not
 * count as part of that run.
 */
function untilSquad(line: ProcessInfo[]): ProcessInfo[] {
  const own = line.findIndex(({ pid }) => pid === process.pid);
  return own < 0 ? line : line.slice(0, own);
}

/** True if the process has a run's mark, and that run's folder names it as the wrapper. */
function isWrapper(runsDir: string, { pid }: ProcessInfo, tag: Tag | undefined): boolean {
  if (!tag?.runId || !/^[\w-]+$/.test(tag.runId)) return false;
  const folder = runFolder(runsDir, tag.runId);
  return turnsIn(folder).some(name => readWrapperPid(join(folder, name)) === pid);
}

function turnsIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(name => /^turn-\d+$/.test(name));
  } catch {
    return []; // the process belongs to a run of another home, or to no run
  }
}
