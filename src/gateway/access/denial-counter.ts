import type { Timers } from '../../base/clock.ts';
import type { RunId } from '../../schema/ids.ts';

const WINDOW_MS = 1_000;
/** Maximum number of different names that are counted for one run; denials of further names are reported together. */
const MAX_NAMES = 200;
const OTHER_NAMES = '';

interface Denied {
  /** Number of denials since the last report. */
  again: number;
  report(count: number): void;
}

/**
 * Keeps an agent that asks for the same thing over and over from filling the disk. A denial is reported at once, then
 * at most once per second while it repeats. The counts of all reports add up to the number of denials.
 */
export class DenialCounter {
  readonly #timers: Timers;
  readonly #runs = new Map<RunId, Map<string, Denied>>();
  #isWaiting = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** `reportOthers` reports names beyond the limit. Errors of a report are thrown on. */
  count(
    runId: RunId,
    name: string,
    report: (count: number) => void,
    reportOthers: (count: number) => void,
  ): void {
    const names = this.#runs.get(runId) ?? new Map<string, Denied>();
    this.#runs.set(runId, names);
    this.#wait();
    const isNamed = names.has(name) || names.size < MAX_NAMES;
    const key = isNamed ? name : OTHER_NAMES;
    const denied = names.get(key);
    if (denied !== undefined) {
      denied.again += 1;
      return;
    }
    const first = isNamed ? report : reportOthers;
    names.set(key, { again: 0, report: first });
    first(1);
  }

  /** Reports every denial that was not reported yet. */
  flush(): void {
    for (const [runId, names] of this.#runs) {
      for (const [name, denied] of names) {
        const count = denied.again;
        denied.again = 0;
        if (count === 0) names.delete(name);
        else reportQuietly(denied, count);
      }
      if (names.size === 0) this.#runs.delete(runId);
    }
  }

  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#timers.after(WINDOW_MS, () => {
      this.#isWaiting = false;
      this.flush();
      if (this.#runs.size > 0) this.#wait();
    });
  }
}

function reportQuietly({ report }: Denied, count: number): void {
  try {
    report(count);
  } catch {
    // The error is ignored: the audit log keeps an entry that it cannot write, and reports the error to the next
    // caller.
  }
}
