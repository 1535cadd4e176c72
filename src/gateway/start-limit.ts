import type { Timers } from './timers.ts';

/** So many starts at once, the rest in the order they came: a cold start of many servers must not take the machine. */
export interface StartLimit {
  run<T>(start: () => Promise<T>): Promise<T>;
}

/** What takes longer is not at work any more, it hangs: it goes on, but the next need not wait for it. */
const COUNTED_MS = 3_000;

export function createStartLimit(most: number, timers: Timers): StartLimit {
  const waiting: (() => void)[] = [];
  let running = 0;

  return {
    async run(start) {
      if (running >= most) await new Promise<void>(resolve => waiting.push(resolve));
      else running += 1;
      let isCounted = true;
      const cancel = timers.after(COUNTED_MS, giveBack);
      try {
        return await start();
      } finally {
        cancel();
        giveBack();
      }

      function giveBack(): void {
        if (!isCounted) return;
        isCounted = false;
        // The place is handed on without being given up, so that nobody slips in between.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
