import { setTimeout as pause } from 'node:timers/promises';
import type { Failure } from './backend.ts';

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 250;

export interface RetryPolicy {
  failureOf(thrown: unknown): Failure;
  /** The failures that may pass by themselves. */
  waitOut: Failure['kind'][];
  windowMs: number;
}

/** Tries again, with growing pauses in which the event loop is free, until it works or the window is over. */
export async function withRetry<T>(work: () => Promise<T>, patience: RetryPolicy): Promise<T> {
  const giveUpAt = performance.now() + patience.windowMs;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, MAX_PAUSE_MS)) {
    try {
      return await work();
    } catch (thrown) {
      const failure = patience.failureOf(thrown);
      if (!patience.waitOut.includes(failure.kind) || performance.now() + wait > giveUpAt)
        throw failure.error;
    }
    await pause(wait);
  }
}
