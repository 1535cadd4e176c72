import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readWrapperPid, runFolder } from '../turns/turn-record.ts';
import { createProcSource } from './proc-source.ts';
import type { ProcessInfo, ProcessSource, Tag } from './process-info.ts';
import { createPsSource } from './ps-source.ts';

export interface ProcessRun {
  runId: string;
  /** A wrapper of that run is above it. Without one there is only a mark, which anybody can put into an environment. */
  isProven: boolean;
}

/** The run in whose process tree this process is; null when it is in none, or not a process of ours. */
export type RunOfProcess = (pid: number) => Promise<ProcessRun | null>;

/**
 * A wrapper above it decides, because nobody below can take that away: neither by clearing the environment nor by putting
 * another run's mark into it. One that was orphaned is known by its session, or by its own mark. What shed all three is
 * in no run. Reads the few processes above this one, not the whole table.
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

/** Start times are known to a tick, those of runs by the wall clock. */
const CLOCK_SLACK_MS = 1000;

/**
 * Whether this process was certainly not started by a run, when the first run began at `firstRunAt`: its session, or a
 * process above it, is older than that. A session cannot be joined. A process above it counts until the line reaches one
 * that adopts orphans: these are above this hub too, or a service manager. False also where nobody can tell, as in a
 * terminal whose whole line is younger than the run.
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
      // At most 1: the session of a container's first process, or one from outside the container.
      if (each.sid !== null && (each.sid <= 1 || isOlder((await source.line(each.sid))[0]))) return true;
    }
    return false;
  };
}

/** A hub may have been started inside a run; what it starts is not in that run for it. */
function untilSquad(line: ProcessInfo[]): ProcessInfo[] {
  const own = line.findIndex(({ pid }) => pid === process.pid);
  return own < 0 ? line : line.slice(0, own);
}

/** It shows a run's mark, and that run's folder says that it is the wrapper. */
function isWrapper(runsDir: string, { pid }: ProcessInfo, tag: Tag | undefined): boolean {
  if (!tag?.runId || !/^[\w-]+$/.test(tag.runId)) return false;
  const folder = runFolder(runsDir, tag.runId);
  return turnsIn(folder).some(name => readWrapperPid(join(folder, name)) === pid);
}

function turnsIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(name => /^turn-\d+$/.test(name));
  } catch {
    return []; // a run of another home, or of none
  }
}
