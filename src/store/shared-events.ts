import type { Event } from '../schema/event.ts';

interface SharedEventsPorts {
  /** Number of the newest event. */
  last(): Promise<number>;
  after(seq: number, limit: number): Promise<Event[]>;
  /** Calls the listener when there may be new events. Returns a function that unsubscribes. */
  onNew(listener: () => void): () => void;
}

const READ_AT_ONCE = 500;
const RETRY_MS = 1_000;

/**
 * The events of all hubs of a database, in the order of their numbers. They are read from the database, this hub's own
 * as well, because another hub's event with a lower number may not be known yet. Nothing is read without a listener.
 */
export class SharedEvents {
  readonly #ports: SharedEventsPorts;
  readonly #listeners = new Set<(events: Event[]) => void>();
  #following: { stop(): void; last: Promise<number> } | null = null;
  #reading: Promise<void> | null = null;
  #isStale = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(ports: SharedEventsPorts) {
    this.#ports = ports;
  }

  /** Resolves with a function that unsubscribes, once the listener gets every later event. */
  async follow(listener: (events: Event[]) => void): Promise<() => void> {
    const entry = (events: Event[]) => listener(events);
    this.#listeners.add(entry);
    const leave = () => {
      this.#listeners.delete(entry);
      if (this.#listeners.size === 0) this.close();
    };
    this.#following ??= { stop: this.#ports.onNew(() => this.#look()), last: this.#ports.last() };
    await this.#following.last.catch((thrown: unknown) => {
      leave();
      this.close();
      throw thrown;
    });
    return leave;
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#following?.stop();
    this.#following = null;
  }

  #look(): void {
    this.#isStale = true;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
      // Something may have become new after the last look, and before this.
      if (this.#isStale && this.#following) this.#look();
    });
  }

  async #read(): Promise<void> {
    const following = this.#following;
    try {
      while (this.#isStale && following && following === this.#following) {
        this.#isStale = false;
        const events = await this.#ports.after(await following.last, READ_AT_ONCE);
        if (following !== this.#following) return;
        const newest = events.at(-1)?.seq;
        if (newest === undefined) continue;
        following.last = Promise.resolve(newest);
        if (events.length === READ_AT_ONCE) this.#isStale = true;
        for (const listener of [...this.#listeners]) listener(events);
      }
    } catch {
      // The database is away, which the next write reports.
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.#look(), RETRY_MS).unref();
    }
  }
}
