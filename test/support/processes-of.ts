import { readdirSync, readFileSync } from 'node:fs';
import { RUN_VARIABLE, SERVER_OF_VARIABLE } from '../../src/process/table/process-info.ts';
import { isAlive, type TestSquad } from './squad.ts';

/** Every process of this Squad's runs: agents and servers by their marks, and whatever is below them, marked or not. */
export function processesOf({ root }: TestSquad): number[] {
  const parents = new Map<number, number>();
  const found = new Set<number>();
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const [stat, environment] = [read(pid, 'stat'), read(pid, 'environ')];
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(stat)?.[1];
    if (parent === undefined || !isAlive(pid)) continue;
    parents.set(pid, Number(parent));
    const isMarked = environment
      .split('\0')
      .some(each => [RUN_VARIABLE, SERVER_OF_VARIABLE].some(mark => each.startsWith(`${mark}=run_`)));
    if (isMarked && environment.includes(root)) found.add(pid);
  }
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** Empty for one that has just gone, or is another user's. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
