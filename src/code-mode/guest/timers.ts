type Act = (...args: unknown[]) => void;

/** Timers of the realm: the outside knows only their numbers. */
export function createTimers(
  outside: { setTimer(id: number, ms: number): void; clearTimer(id: number): void },
  fail: (thrown: unknown) => void,
) {
  const waiting = new Map<number, { act: Act; args: unknown[]; everyMs: number | null }>();
  let last = 0;

  function set(act: Act, ms: unknown, args: unknown[], isRepeated: boolean): number {
    if (typeof act !== 'function') throw new TypeError('A timer takes a function');
    const delay = Math.max(1, Math.min(Number(ms) || 0, 2 ** 31 - 1));
    const id = ++last;
    waiting.set(id, { act, args, everyMs: isRepeated ? delay : null });
    outside.setTimer(id, delay);
    return id;
  }

  function clear(id: unknown): void {
    if (typeof id === 'number' && waiting.delete(id)) outside.clearTimer(id);
  }

  return {
    functions: {
      setTimeout: (act: Act, ms?: unknown, ...args: unknown[]) => set(act, ms, args, false),
      setInterval: (act: Act, ms?: unknown, ...args: unknown[]) => set(act, ms, args, true),
      setImmediate: (act: Act, ...args: unknown[]) => set(act, 0, args, false),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
    },
    count: () => waiting.size,
    fire(id: number): void {
      const timer = waiting.get(id);
      if (!timer) return;
      const { act, args } = timer;
      if (timer.everyMs === null) waiting.delete(id);
      try {
        act(...args);
      } catch (thrown) {
        fail(thrown);
      }
      if (timer.everyMs !== null && waiting.has(id)) outside.setTimer(id, timer.everyMs);
    },
  };
}
