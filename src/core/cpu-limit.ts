import { Script } from 'node:vm';

const CALL = new Script('globalThis.__squadLimited()');

/**
 * Runs synchronous code and interrupts it after this much CPU time. Node can interrupt only by the clock, so code that had
 * less than half of that time for itself, because the machine is busy, gets another try with more time.
 */
export function withCpuLimit<T>(maxMs: number, act: () => T): T {
  for (let timeout = maxMs; ; timeout *= 2) {
    const before = cpuMs();
    try {
      return interruptedAfter(timeout, act);
    } catch (thrown) {
      if (!isOverCpuLimit(thrown) || cpuMs() - before > maxMs / 2) throw thrown;
    }
  }
}

export const isOverCpuLimit = (thrown: unknown): boolean =>
  (thrown as { code?: string } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

/** CPU time of this thread. Node 22 knows only that of the whole process. */
function cpuMs(): number {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1_000;
}

function interruptedAfter<T>(timeout: number, act: () => T): T {
  const room = globalThis as { __squadLimited?: () => void };
  let result: { value: T } | null = null;
  room.__squadLimited = () => {
    result = { value: act() };
  };
  try {
    CALL.runInThisContext({ timeout });
    return result!.value;
  } finally {
    delete room.__squadLimited;
  }
}
