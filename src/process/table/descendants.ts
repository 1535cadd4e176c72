import { existsSync, readFileSync } from 'node:fs';

/**
 * Maximum number of processes below one process. No honest program needs as many, and a program that starts processes
 * without end must not stop the hub.
 */
const MAX_PROCESSES = 1000;

/** Every process below `pid`, parents before children. Linux only, because only its kernel keeps lists of children. */
export function descendantsOf(pid: number): number[] {
  const found = childrenOf(pid);
  for (let at = 0; at < found.length && found.length < MAX_PROCESSES; at++)
    found.push(...childrenOf(found[at]!));
  return found;
}

/**
 * Memory in bytes that a process and its descendants use alone, in RAM or swap. Programs and libraries that several
 * processes share are not counted.
 */
export function memoryOfTree(pid: number): number {
  return [pid, ...descendantsOf(pid)].reduce((sum, each) => sum + ownMemory(each), 0);
}

/** Some kernels are built without lists of child processes. */
export const knowsDescendants = (): boolean =>
  existsSync(`/proc/${process.pid}/task/${process.pid}/children`);

function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

const OWN = /^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm;

function ownMemory(pid: number): number {
  const kilobytes = [...read(`/proc/${pid}/status`).matchAll(OWN)].map(([, value]) => Number(value));
  return kilobytes.reduce((sum, each) => sum + each, 0) * 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
