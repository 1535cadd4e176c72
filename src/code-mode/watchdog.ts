import { memoryOfTree } from '../process/table/descendants.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';

/** Short, so that a program can allocate only little between two checks. */
const CHECK_INTERVAL_MS = 25;
const SPARE_CHECK_INTERVAL_MS = 500;
const MB = 1024 * 1024;

/**
 * Checks time and memory from outside, where a program cannot block the checks. Both count from now: memory that a spare guest
 * took before does not count against the program. Returns a function that stops the checks.
 */
export function watchTree(
  pid: number,
  { timeoutMs, memoryMb }: CodeModeLimits,
  onLimit: (limit: 'time' | 'memory') => void,
): () => void {
  const before = memoryOfTree(pid);
  const timer = setTimeout(() => onLimit('time'), timeoutMs);
  const memoryTimer = setInterval(() => {
    if (memoryOfTree(pid) - before > memoryMb * MB) onLimit('memory');
  }, CHECK_INTERVAL_MS);
  return () => {
    clearTimeout(timer);
    clearInterval(memoryTimer);
  };
}

/** The same for a guest without a program. It may wait as long as a model takes, so it is checked less often. */
export function watchSpare(pid: number, memoryMb: number, onLimit: () => void): () => void {
  const timer = setInterval(() => {
    if (memoryOfTree(pid) > memoryMb * MB) onLimit();
  }, SPARE_CHECK_INTERVAL_MS);
  return () => clearInterval(timer);
}
