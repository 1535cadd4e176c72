/** The two clocks of a process. Code that makes decisions takes a clock as an argument, so that tests can set it. */
export interface Clock {
  /** Milliseconds since 1970, for records and for calendar days. A person or a time server may set this clock at any moment. */
  now(): number;
  /** Milliseconds that never decrease, for limits and timeouts. They have no meaning in another process. */
  monotonic(): number;
}

/** Maximum delay of setTimeout; longer delays are reached in steps. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** One timer for many scheduled times. It does not keep the process alive. */
export class Alarms<K> {
  private readonly clock: Clock;
  private readonly ring: (key: K) => void;
  private readonly times = new Map<K, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(clock: Clock, ring: (key: K) => void) {
    this.clock = clock;
    this.ring = ring;
  }

  /** Schedules the key in this many milliseconds and replaces its previous time; null removes it. */
  set(key: K, inMs: number | null): void {
    if (inMs === null) this.times.delete(key);
    else this.times.set(key, this.clock.monotonic() + inMs);
    this.arm();
  }

  close(): void {
    this.times.clear();
    this.arm();
  }

  private arm(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    if (this.times.size === 0) return;
    const left = Math.min(...this.times.values()) - this.clock.monotonic();
    this.timer = setTimeout(() => this.due(), Math.max(0, Math.min(left, MAX_TIMER_MS)));
    this.timer.unref();
  }

  private due(): void {
    const now = this.clock.monotonic();
    // On a busy machine several times may be due at once; they run in order.
    const due = [...this.times]
      .filter(([, at]) => at <= now)
      .sort(([, one], [, other]) => one - other)
      .map(([key]) => key);
    for (const key of due) this.times.delete(key);
    this.arm();
    for (const key of due) this.ring(key);
  }
}

/**
 * Timers that do not depend on the wall clock, so that a machine that was asleep, or whose clock was set, does not
 * cause a burst of retries.
 */
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

/** Resolves when the promise settles or the time is over, whichever comes first. Never rejects. */
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

/** Resolves with the promised value, or with null when the time is over. */
export async function within<T>(wait: Promise<T>, ms: number): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const cancel = realTimers.after(ms, () => resolve(null));
  return Promise.race([wait, late]).finally(cancel);
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

/** One timer for all regular checks of files. It never keeps the process alive. */
export function createTicker(intervalMs: number): (check: () => void) => () => void {
  const checks = new Set<() => void>();
  let timer: NodeJS.Timeout | null = null;

  return check => {
    checks.add(check);
    timer ??= setInterval(() => {
      for (const each of checks) each();
    }, intervalMs).unref();

    return () => {
      checks.delete(check);
      if (checks.size > 0 || !timer) return;
      clearInterval(timer);
      timer = null;
    };
  };
}
