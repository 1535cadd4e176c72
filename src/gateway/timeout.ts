import type { Timers } from './timers.ts';

/** Settles with what is waited for, or when the time is over, whichever is first. */
export function waitAtMost(timers: Timers, ms: number, wait: Promise<unknown>): Promise<void> {
  return new Promise(resolve => {
    const cancel = timers.after(ms, resolve);
    const done = () => {
      cancel();
      resolve();
    };
    wait.then(done, done);
  });
}

/** One who waits no longer than so long, or until the signal; what is waited for goes on for the others. */
export function withTimeout<T>(
  wait: Promise<T>,
  timers: Timers,
  ms: number,
  signal: AbortSignal | undefined,
  reason: (isLate: boolean) => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(ms, () => reject(reason(true)));
    const giveUp = () => reject(reason(false));
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted) giveUp();
    wait.then(resolve, reject).finally(() => {
      cancel();
      signal?.removeEventListener('abort', giveUp);
    });
  });
}
