import type { Timers } from './timers.ts';

/** A start that takes longer hangs rather than works. It continues, but the next start does not wait for it. */
const COUNTED_MS = 3_000;

/** Runs a limited number of starts at once, the rest in the order they came: many cold starts must not take the whole machine. */
export class StartLimit {
  readonly #max: number;
  readonly #timers: Timers;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(max: number, timers: Timers) {
    this.#max = max;
    this.#timers = timers;
  }

  async run<T>(start: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) await new Promise<void>(resolve => this.#waiting.push(resolve));
    else this.#running += 1;
    let isCounted = true;
    const giveBack = () => {
      if (!isCounted) return;
      isCounted = false;
      // The next waiter takes the place over, so that nobody slips in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    };
    const cancel = this.#timers.after(COUNTED_MS, giveBack);
    try {
      return await start();
    } finally {
      cancel();
      giveBack();
    }
  }
}
