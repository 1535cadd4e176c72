import type { Clock } from '../../base/clock.ts';

/** Stored deadlines on the monotonic clock, so that a clock that is set neither brings them nearer nor puts them off. */
export class Deadlines<K> {
  private readonly clock: Clock;
  private readonly due = new Map<K, number>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Milliseconds left, by the wall clock only the first time, and never more than there were in all. */
  left(key: K, { from, until }: { from: number; until: number }): number {
    const now = this.clock.monotonic();
    const due = this.due.get(key) ?? now + Math.min(until - this.clock.now(), until - from);
    this.due.set(key, due);
    return due - now;
  }

  forget(key: K): void {
    this.due.delete(key);
  }
}
