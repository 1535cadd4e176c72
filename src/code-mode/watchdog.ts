import { memoryOfTree } from '../process/descendants.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';

/** Often enough that little can be taken between two looks. */
const LOOK_MS = 25;

/** Looks at time and memory from outside, where a program cannot hold it up. Returns how to stop. */
export function watchTree(
  pid: number,
  { timeoutMs, memoryMb }: CodeModeLimits,
  onLimit: (limit: 'time' | 'memory') => void,
): () => void {
  const timer = setTimeout(() => onLimit('time'), timeoutMs);
  const looking = setInterval(() => {
    if (memoryOfTree(pid) > memoryMb * 1024 * 1024) onLimit('memory');
  }, LOOK_MS);
  return () => {
    clearTimeout(timer);
    clearInterval(looking);
  };
}
