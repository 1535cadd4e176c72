import { memoryOfTree } from '../process/table/descendants.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';

/** Often enough that little can be taken between two looks. */
const LOOK_MS = 25;
const LOOK_AT_SPARE_MS = 500;
const MB = 1024 * 1024;

/**
 * Looks at time and memory from outside, where a program cannot hold it up. Both count from now: what was taken before, in
 * a guest that was started ahead, is none of the program's. Returns how to stop.
 */
export function watchTree(
  pid: number,
  { timeoutMs, memoryMb }: CodeModeLimits,
  onLimit: (limit: 'time' | 'memory') => void,
): () => void {
  const before = memoryOfTree(pid);
  const timer = setTimeout(() => onLimit('time'), timeoutMs);
  const looking = setInterval(() => {
    if (memoryOfTree(pid) - before > memoryMb * MB) onLimit('memory');
  }, LOOK_MS);
  return () => {
    clearTimeout(timer);
    clearInterval(looking);
  };
}

/** The same for one that has no program yet. It may wait as long as a model takes, so it is looked at less often. */
export function watchSpare(pid: number, memoryMb: number, onLimit: () => void): () => void {
  const looking = setInterval(() => {
    if (memoryOfTree(pid) > memoryMb * MB) onLimit();
  }, LOOK_AT_SPARE_MS);
  return () => clearInterval(looking);
}
