const FIRST_MS = 250;
const MAX_MS = 5_000;

/** How long to wait before trying again, after so many failures: doubled each time, a quarter of it by chance. */
export function backOffMs(failures: number, chance: number = Math.random()): number {
  const full = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.round(full * (0.75 + 0.25 * chance));
}
