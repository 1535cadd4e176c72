import type { RunId } from '../../schema/ids.ts';
import type { Timers } from '../timers.ts';

const WINDOW_MS = 1_000;
/** Of one run at a time; what more of them it asks for is told together. */
const MOST_NAMES = 200;
const MORE = '';

/** One thing that was denied, told at once and then once for each second in which it was denied again. */
interface Told {
  again: number;
  tell(count: number): void;
}

/** Keeps an agent that asks for the same thing over and over from filling the disk. Every denial is counted: the counts of all that was told add up. */
export class DenialTally {
  readonly #timers: Timers;
  readonly #runs = new Map<RunId, Map<string, Told>>();
  #isWaiting = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** `tellMore` is for whatever there are too many names of. Throws what the telling throws. */
  count(runId: RunId, name: string, tell: (count: number) => void, tellMore: (count: number) => void): void {
    const names = this.#namesOf(runId);
    const isNamed = names.has(name) || names.size < MOST_NAMES;
    const key = isNamed ? name : MORE;
    const told = names.get(key);
    if (told !== undefined) {
      told.again += 1;
      return;
    }
    const teller = isNamed ? tell : tellMore;
    names.set(key, { again: 0, tell: teller });
    teller(1);
  }

  /** Tells what was not told yet. */
  flush(): void {
    for (const [runId, names] of this.#runs) {
      for (const [name, told] of names) {
        const count = told.again;
        told.again = 0;
        if (count === 0) names.delete(name);
        else quietly(() => told.tell(count));
      }
      if (names.size === 0) this.#runs.delete(runId);
    }
  }

  #namesOf(runId: RunId): Map<string, Told> {
    let names = this.#runs.get(runId);
    if (names === undefined) {
      names = new Map();
      this.#runs.set(runId, names);
    }
    this.#wait();
    return names;
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

/** A log that cannot be written keeps what it was given, and says so to whoever asks next. */
function quietly(tell: () => void): void {
  try {
    tell();
  } catch {}
}
