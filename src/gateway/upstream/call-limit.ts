import type { Timers } from '../../base/timers.ts';
import type { RunId } from '../../schema/ids.ts';

/** How many calls one server has before it, in all and of one run; the rest wait in the order they came. */
export interface InFlight {
  /**
   * Undefined: at once. Rejects with the signal's reason when it aborts first, with Busy when there was no place in all that
   * time; then nothing is to be given back.
   */
  enter(runId: RunId, signal: AbortSignal, patienceMs: number): Promise<void> | undefined;
  leave(runId: RunId): void;
  count(): number;
}

/** All places were taken for as long as somebody would wait. */
export class Busy extends Error {}

interface Waiter {
  turn: number;
  admit(): void;
}

interface Line {
  inside: number;
  waiting: Set<Waiter>;
}

export function createInFlight(limits: { inAll: number; ofOneRun: number }, timers: Timers): InFlight {
  const lines = new Map<RunId, Line>();
  let inside = 0;
  let waiting = 0;
  let turn = 0;

  return {
    enter(runId, signal, patienceMs) {
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
      return wait(runId, line, signal, patienceMs);
    },
    leave(runId) {
      const line = lines.get(runId)!;
      inside -= 1;
      line.inside -= 1;
      if (waiting > 0) admitNext();
      forget(runId, line);
    },
    count: () => inside,
  };

  function wait(runId: RunId, line: Line, signal: AbortSignal, patienceMs: number): Promise<void> {
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
      const cancel = timers.after(patienceMs, () => giveUp(new Busy()));
      signal.addEventListener('abort', abort, { once: true });
      line.waiting.add(waiter);
      waiting += 1;
    });
  }

  function forget(runId: RunId, line: Line): void {
    if (line.inside === 0 && line.waiting.size === 0) lines.delete(runId);
  }

  /** The longest waiting of those whose run has a place left: a run with a thousand waiting holds up nobody else. */
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
