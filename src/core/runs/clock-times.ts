import type { Clock } from '../../base/clock.ts';

/** A stored time on the monotonic clock. A time in the future was stored before the clock was set back; it counts as now. */
export const monotonicOf = (clock: Clock, at: number): number =>
  clock.monotonic() - Math.max(0, clock.now() - at);

/** A monotonic time as the clock would show it if it had never been set. */
export const wallTimeOf = (clock: Clock, monotonic: number): number =>
  clock.now() - (clock.monotonic() - monotonic);
