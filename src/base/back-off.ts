export interface BackOff {
  first: number;
  max: number;
}

/** Delay before the next attempt. Doubles with each failure. */
export const backOffMs = (failures: number, { first, max }: BackOff): number =>
  Math.min(max, first * 2 ** Math.min(failures, 30));

/** Up to 25 % less than the delay, so that clients that lost the same server do not return at the same time. */
export const withJitter = (ms: number, chance: number = Math.random()): number =>
  Math.round(ms * (0.75 + 0.25 * chance));
