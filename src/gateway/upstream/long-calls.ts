import type { Timers } from '../timers.ts';

const TICK_MS = 125;

/** Calls that take their time. What is done when one does is done between one and two ticks after its beginning, at most once. */
export class LongCalls {
  readonly #timers: Timers;
  #young = new Set<() => void>();
  #older = new Set<() => void>();
  #isTicking = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Returns how to say that the call is over. */
  begin(onLong: () => void): () => void {
    // One timer for all of them: most calls are over long before it matters.
    if (!this.#isTicking) this.#wait();
    this.#young.add(onLong);
    return () => this.#young.delete(onLong) || this.#older.delete(onLong);
  }

  #wait(): void {
    this.#isTicking = true;
    this.#timers.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    const long = this.#older;
    this.#older = this.#young;
    this.#young = new Set();
    this.#isTicking = false;
    if (this.#older.size > 0) this.#wait();
    for (const onLong of long) onLong();
  }
}
