const DELAYS = [1_000, 2_000, 4_000, 8_000, 16_000];
const MAX_REQUESTED_MS = 3_600_000;

/**
 * When the gateway retries a server that failed: after short delays first, then once per cool-down. A server that has failed a
 * call gets no short delays.
 */
export interface RetrySchedule {
  /** One more failure. `wishMs`: the delay that the server asked for. */
  failed(wishMs: number | null, hasFailedCall: boolean): { health: 'retrying' | 'cooling'; delayMs: number };
  /** It has been well for long enough. */
  forgive(): void;
}

export function createRetrySchedule(cooldownMs: () => number): RetrySchedule {
  let failures = 0;
  return {
    failed(wishMs, hasFailedCall) {
      const delay = hasFailedCall ? undefined : DELAYS[failures];
      failures += 1;
      const wish = Math.min(wishMs ?? 0, MAX_REQUESTED_MS);
      return delay === undefined
        ? { health: 'cooling', delayMs: Math.max(cooldownMs(), wish) }
        : { health: 'retrying', delayMs: Math.max(delay, wish) };
    },
    forgive() {
      failures = 0;
    },
  };
}
