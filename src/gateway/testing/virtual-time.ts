import type { Clock, Timers } from '../../base/clock.ts';

/** Time that passes when a test says so. */
export class VirtualTime implements Clock, Timers {
  #now = 1_000_000;
  /** How far somebody has set the wall clock. */
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

  /** Timers go off one by one, each with all that follows from it before the next. */
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

/** Everything that waits for nothing but its turn has had it. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise(resolve => setImmediate(resolve));
}
