const FIRST_MS = 250;
const MAX_MS = 5_000;

/** Delay before the next attempt: doubles with each failure, with up to 25 % jitter. */
export function backOffMs(failures: number, chance: number = Math.random()): number {
  const full = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.round(full * (0.75 + 0.25 * chance));
}
