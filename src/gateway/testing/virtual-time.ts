import type { Clock, Timers } from '../../base/clock.ts';

/** A clock that advances only when a test calls `pass`. */
export class VirtualTime implements Clock, Timers {
  #now = 1_000_000;
  /** Milliseconds by which the wall clock was changed. */
  setBy = 0;
  readonly #due = new Set<{ at: number; run: () => void }>();

  now(): number {
    return this.#now + this.setBy;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#due.add(timer);
    return () => this.#due.delete(timer);
  }

  /** Advances the clock. Timers fire one by one, and all effects of a timer happen before the next timer fires. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (;;) {
      const next = [...this.#due].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#due.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settled();
    }
    this.#now = end;
  }
}

/** Waits until all pending promise callbacks have run. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise(resolve => setImmediate(resolve));
}
