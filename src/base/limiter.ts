import type { Timers } from './clock.ts';

/** Limits how much work runs at once; the rest waits in order of arrival. */
export class Limiter {
  readonly #max: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Rejects with the signal's reason if it aborts before there is room. */
  async run<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await act();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.#max) {
      this.#running++;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    this.#waiting.add(resolve);
    signal.addEventListener('abort', giveUp, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  /** The next waiter gets the free place at once, so that no newcomer can take it. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else this.#running--;
  }
}

/** Time after which a start probably hangs. It continues, but the next start does not wait for it. */
const COUNTED_MS = 3_000;

/**
 * Limits how many starts run at once, because many cold starts would use the whole machine. The rest waits in order of
 * arrival.
 */
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
      // The next waiter gets the free place at once, so that no newcomer can take it.
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
