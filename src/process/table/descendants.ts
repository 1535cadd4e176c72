import { existsSync, readFileSync } from 'node:fs';

/** Nobody has more, unless to be a nuisance. */
const MAX_PROCESSES = 1000;

/** Every process below this one, parents before children. Linux only, where the kernel keeps lists of children. */
export function descendantsOf(pid: number): number[] {
  const found = childrenOf(pid);
  for (let at = 0; at < found.length && found.length < MAX_PROCESSES; at++)
    found.push(...childrenOf(found[at]!));
  return found;
}

/**
 * Bytes that a process and all below it take for themselves, in memory or swapped out. Programs and libraries, which the
 * system keeps once for all who use them, are not counted.
 */
export function memoryOfTree(pid: number): number {
  return [pid, ...descendantsOf(pid)].reduce((sum, each) => sum + ownMemory(each), 0);
}

/** Some kernels are built without these lists. */
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
