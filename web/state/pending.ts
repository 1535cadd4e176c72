import type { Event } from '../../src/schema/event.ts';
import type { InboxItem } from '../../src/schema/inbox.ts';
import type { RunCard } from '../../src/schema/run-card.ts';

/** Changes since the last flush. */
export interface Changes {
  events: Event[];
  runs: RunCard[];
  inbox: InboxItem[];
  /** True if anything may have changed, so that all data must be requested again. */
  isReset: boolean;
}

/** Number of changes from which requesting all data again is cheaper. */
const MAX_EVENTS = 2_000;

/**
 * Changes that were received but are not shown yet. A tab in the background may not flush for a long time, so the size
 * is limited.
 */
export class Pending {
  #events: Event[] = [];
  #runs = new Map<string, RunCard>();
  #inbox = new Map<string, InboxItem>();
  #isReset = false;

  add({ events, runs, inbox }: Omit<Changes, 'isReset'>): void {
    for (const run of runs) this.#runs.set(run.id, run);
    for (const item of inbox) this.#inbox.set(item.id, item);
    for (const event of events) this.#events.push(event);
    if (this.#events.length > MAX_EVENTS) this.reset();
  }

  reset(): void {
    this.#events = [];
    this.#isReset = true;
  }

  take(): Changes {
    const taken: Changes = {
      events: this.#events,
      runs: [...this.#runs.values()],
      inbox: [...this.#inbox.values()],
      isReset: this.#isReset,
    };
    this.#events = [];
    this.#runs = new Map();
    this.#inbox = new Map();
    this.#isReset = false;
    return taken;
  }
}
