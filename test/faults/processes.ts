import { readdirSync, readFileSync } from 'node:fs';

export interface Seen {
  pid: number;
  command: string;
  environment: string[];
}

/** Every living process that may be read, as the kernel shows it. Linux only, like the rest of this folder. */
export function listProcesses(): Seen[] {
  return readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [command, environment] = ['cmdline', 'environ'].map(file =>
        readFileSync(`/proc/${name}/${file}`, 'utf8').split('\0').filter(Boolean),
      );
      // A dead process that nobody has reaped shows neither.
      if (command!.length === 0 && environment!.length === 0) return [];
      return [{ pid: Number(name), command: command!.join(' '), environment: environment! }];
    } catch {
      return []; // gone meanwhile
    }
  });
}

/** Processes with the tag of one of these runs: agents, wrappers, watchdogs and all their children. */
export const processesOfRuns = (ids: ReadonlySet<string>): Seen[] =>
  listProcesses().filter(({ environment }) =>
    environment.some(entry => entry.startsWith('SQUAD_RUN_ID=') && ids.has(entry.slice(13))),
  );

/** Processes that have this folder in their command line or environment. */
export const processesAbout = (folder: string): Seen[] =>
  listProcesses().filter(({ command, environment }) =>
    [command, ...environment].some(text => text.includes(folder)),
  );

/** Hubs of this home, also one that has not come up yet. */
export function hubsOf(home: string): number[] {
  const looks = listProcesses().filter(
    ({ command, environment }) =>
      /\/hub\.cjs(\s\d+)?$/.test(command) && environment.includes(`SQUAD_HOME=${home}`),
  );
  // A hub's child looks like the hub until it has become a wrapper, and wrappers are to be left alone.
  const pids = looks.map(({ pid }) => pid);
  return pids.filter(pid => !pids.includes(parentOf(pid)));
}

function parentOf(pid: number): number {
  try {
    return Number(/\) . (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]);
  } catch {
    return 0;
  }
}

export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {} // gone already
}
