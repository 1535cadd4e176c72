/** Timers that do not depend on the wall clock, so that a machine that slept or whose clock was set starts no storm of retries. */
export interface Timers {
  /** Returns a function that cancels the timer. */
  after(ms: number, run: () => void): () => void;
}

export const realTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Settles when the promise settles or the time is over, whichever is first. Never rejects. */
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

/** Rejects with `reason` when the time is over or the signal aborts. The promise itself continues, for others who wait for it. */
export function withTimeout<T>(
  wait: Promise<T>,
  timers: Timers,
  ms: number,
  signal: AbortSignal | undefined,
  reason: (isLate: boolean) => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(ms, () => reject(reason(true)));
    const abort = () => reject(reason(false));
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    wait.then(resolve, reject).finally(() => {
      cancel();
      signal?.removeEventListener('abort', abort);
    });
  });
}
