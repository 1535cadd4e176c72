const DELAYS = [1_000, 2_000, 4_000, 8_000, 16_000];
const LONGEST_WISH = 3_600_000;

/** When a server that failed is tried again: sooner, then later, then only once per cool-down. */
export interface RetrySchedule {
  /** One more failure. `wishMs`: how long the server asked to be left alone. */
  failed(wishMs: number | null): { health: 'retrying' | 'cooling'; delayMs: number };
  /** It has been well for long enough. */
  forgive(): void;
}

export function createRetrySchedule(cooldownMs: () => number): RetrySchedule {
  let failures = 0;
  return {
    failed(wishMs) {
      const delay = DELAYS[failures];
      failures += 1;
      const wish = Math.min(wishMs ?? 0, LONGEST_WISH);
      return delay === undefined
        ? { health: 'cooling', delayMs: Math.max(cooldownMs(), wish) }
        : { health: 'retrying', delayMs: Math.max(delay, wish) };
    },
    forgive() {
      failures = 0;
    },
  };
}
