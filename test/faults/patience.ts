import { setTimeout as delay } from 'node:timers/promises';

/** Looks again and again until something is there; says what was waited for when it does not come. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  patienceMs = 60_000,
): Promise<NonNullable<T>> {
  const giveUpAt = Date.now() + patienceMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > giveUpAt) throw new Error(`Waited ${patienceMs / 1000} s in vain for ${what}`);
    await delay(10);
  }
}

/** The answer, or an error once the time is over: nothing here may hang. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = delay(ms, null, { signal: timer.signal }).then(() => {
    throw new Error(`${what} took longer than ${ms / 1000} s`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}
