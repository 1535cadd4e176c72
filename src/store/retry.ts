import { setTimeout as pause } from 'node:timers/promises';
import type { Failure } from './backend.ts';

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 250;

export interface RetryPolicy {
  failureOf(thrown: unknown): Failure;
  /** Failures to retry. */
  waitOut: Failure['kind'][];
  windowMs: number;
}

/** Retries with growing pauses until it works or the window is over. */
export async function withRetry<T>(work: () => Promise<T>, policy: RetryPolicy): Promise<T> {
  const giveUpAt = performance.now() + policy.windowMs;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, MAX_PAUSE_MS)) {
    try {
      return await work();
    } catch (thrown) {
      const failure = policy.failureOf(thrown);
      if (!policy.waitOut.includes(failure.kind) || performance.now() + wait > giveUpAt) throw failure.error;
    }
    await pause(wait);
  }
}
