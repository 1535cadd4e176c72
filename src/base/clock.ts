/** The two clocks of a process. Code that decides takes one as an argument, so that tests can set it. */
export interface Clock {
  /** Milliseconds since 1970, for records and for calendar days. A person or a time server may set this clock at any moment. */
  now(): number;
  /** Milliseconds that only grow, for limits and timeouts. They mean nothing in another process. */
  monotonic(): number;
}

/** setTimeout's own ceiling; a longer time is reached in steps. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** One timer for the nearest of many times. It keeps nothing alive. */
export class Alarms<K> {
  private readonly clock: Clock;
  private readonly ring: (key: K) => void;
  private readonly times = new Map<K, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(clock: Clock, ring: (key: K) => void) {
    this.clock = clock;
    this.ring = ring;
  }

  /** In so many milliseconds, in place of the time it had; null: none. */
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
    // On a busy machine several timers are due at once; run them in order.
    const due = [...this.times]
      .filter(([, at]) => at <= now)
      .sort(([, one], [, other]) => one - other)
      .map(([key]) => key);
    for (const key of due) this.times.delete(key);
    this.arm();
    for (const key of due) this.ring(key);
  }
}
