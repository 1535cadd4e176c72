import type { Timers } from '../../base/clock.ts';
import type { RunId } from '../../schema/ids.ts';

/** Thrown when no place became free within the timeout. */
export class Busy extends Error {}

interface Waiter {
  turn: number;
  admit(): void;
}

interface Line {
  inside: number;
  waiting: Set<Waiter>;
}

export type InFlight = ReturnType<typeof createInFlight>;

/** Limits concurrent calls to one server, in total and per run. Further calls wait in order of arrival. */
export function createInFlight(limits: { inAll: number; ofOneRun: number }, timers: Timers) {
  const lines = new Map<RunId, Line>();
  let inside = 0;
  let waiting = 0;
  let turn = 0;

  return {
    /**
     * Waits for a place. Undefined if the call may start at once. Rejects with the signal's reason if it aborts
     * first, or with Busy if no place becomes free in time. After a rejection the caller must not call `leave`.
     */
    enter(runId: RunId, signal: AbortSignal, timeoutMs: number): Promise<void> | undefined {
      let line = lines.get(runId);
      if (line === undefined) {
        line = { inside: 0, waiting: new Set() };
        lines.set(runId, line);
      }
      if (inside < limits.inAll && line.inside < limits.ofOneRun && line.waiting.size === 0) {
        inside += 1;
        line.inside += 1;
        return undefined;
      }
      return wait(runId, line, signal, timeoutMs);
    },
    leave(runId: RunId): void {
      const line = lines.get(runId)!;
      inside -= 1;
      line.inside -= 1;
      if (waiting > 0) admitNext();
      forget(runId, line);
    },
    count: () => inside,
  };

  function wait(runId: RunId, line: Line, signal: AbortSignal, timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        forget(runId, line);
        return reject(signal.reason);
      }
      const waiter: Waiter = {
        turn: turn++,
        admit() {
          cancel();
          signal.removeEventListener('abort', abort);
          resolve();
        },
      };
      const giveUp = (reason: unknown) => {
        cancel();
        signal.removeEventListener('abort', abort);
        line.waiting.delete(waiter);
        waiting -= 1;
        forget(runId, line);
        reject(reason);
      };
      const abort = () => giveUp(signal.reason);
      const cancel = timers.after(timeoutMs, () => giveUp(new Busy()));
      signal.addEventListener('abort', abort, { once: true });
      line.waiting.add(waiter);
      waiting += 1;
    });
  }

  function forget(runId: RunId, line: Line): void {
    if (line.inside === 0 && line.waiting.size === 0) lines.delete(runId);
  }

  /**
   * Admits the longest waiting call whose run has a place left, so that a run with a thousand waiting calls does not
   * block other runs.
   */
  function admitNext(): void {
    let first: { line: Line; waiter: Waiter } | null = null;
    for (const line of lines.values()) {
      if (line.inside >= limits.ofOneRun) continue;
      const waiter = line.waiting.values().next().value;
      if (waiter !== undefined && (first === null || waiter.turn < first.waiter.turn))
        first = { line, waiter };
    }
    if (first === null) return;
    first.line.waiting.delete(first.waiter);
    waiting -= 1;
    first.line.inside += 1;
    inside += 1;
    first.waiter.admit();
  }
}

const TICK_MS = 125;

/** Reports slow calls: each at most once, between one and two ticks after its start. */
export class LongCalls {
  readonly #timers: Timers;
  #young = new Set<() => void>();
  #older = new Set<() => void>();
  #isTicking = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Returns a function to call when the call has ended. */
  begin(onLong: () => void): () => void {
    // One timer serves all calls, because most calls end long before a timer of their own would fire.
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
