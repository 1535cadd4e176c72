import type { Clock } from '../../base/clock.ts';
import { approvePins, comparePins, confirmEntries, pendingChanges } from '../../core/gateway/pins.ts';
import type { Definition, PendingChange, Pin, PinKey, PinStore } from '../../core/ports/gateway.ts';

/** What is pinned of one server. All its instances share it; changes are made one after another. */
export class ServerPins {
  readonly key: PinKey;
  readonly #store: PinStore;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #isOpen: boolean;
  #pins: Pin[] | null = null;
  #loading: Promise<void> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** `isOpen`: whatever is listed may be used, now and when it changes. */
  constructor(key: PinKey, store: PinStore, clock: Clock, isOpen = false) {
    this.key = key;
    this.#store = store;
    this.#clock = clock;
    this.#isOpen = isOpen;
  }

  /** Null: the server was never listed, or this was not loaded yet. */
  get pins(): readonly Pin[] | null {
    return this.#pins;
  }

  load(): Promise<void> {
    this.#loading ??= this.#store.pins(this.key).then(
      pins => {
        this.#pins = pins;
      },
      error => {
        // The next one who asks tries again.
        this.#loading = null;
        throw error;
      },
    );
    return this.#loading;
  }

  /** Compares what the server lists now with what is pinned, and keeps what is new as waiting. */
  see(listed: readonly Definition[]): Promise<void> {
    return this.#change(pins => comparePins(this.#isOpen ? null : pins, listed, this.#clock.now()));
  }

  /** Of what waits, what is meant when its turn has come: it may have changed once more. Returns what was approved. */
  async approve(isMeant: (change: PendingChange) => boolean): Promise<PendingChange[]> {
    let approved: PendingChange[] = [];
    await this.#change(pins => {
      approved = pendingChanges(this.key.server, pins ?? []).filter(isMeant);
      const names = approved.map(({ tool }) => tool);
      return names.length === 0 ? pins : approvePins(pins ?? [], names);
    });
    return approved;
  }

  /** Entries of lists that mean nothing that exists, and are to count as they are. */
  confirm(entries: readonly string[]): Promise<void> {
    return this.#change(pins => confirmEntries(pins ?? [], entries, this.#clock.now()));
  }

  async pending(): Promise<PendingChange[]> {
    await this.load();
    return pendingChanges(this.key.server, this.#pins ?? []);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #change(next: (pins: readonly Pin[] | null) => readonly Pin[] | null): Promise<void> {
    const change = this.#last.then(async () => {
      await this.load();
      const before = this.#pins;
      const after = next(before);
      if (after === null || isSame(before, after)) return;
      // On disk before anybody may use it.
      await this.#store.savePins(this.key, [...after]);
      this.#pins = [...after];
      for (const listener of this.#listeners) listener();
    });
    this.#last = change.catch(() => {});
    return change;
  }
}

const isSame = (before: readonly Pin[] | null, after: readonly Pin[]): boolean =>
  before !== null &&
  before.length === after.length &&
  before.every(
    (pin, at) =>
      pin.hash === after[at]!.hash && pin.name === after[at]!.name && pin.state === after[at]!.state,
  );

export function createPinBooks(store: PinStore, clock: Clock): (key: PinKey) => ServerPins {
  const books = new Map<string, ServerPins>();
  return key => {
    const id = JSON.stringify([key.workspace, key.server, key.source]);
    let book = books.get(id);
    if (book === undefined) {
      book = new ServerPins(key, store, clock);
      books.set(id, book);
    }
    return book;
  };
}

/** For servers that a file names which is read anew at each start: it is the file that was agreed to, and nobody is there to approve more. */
export const unpinned =
  (clock: Clock) =>
  (key: PinKey): ServerPins =>
    new ServerPins(key, { pins: async () => null, savePins: async () => {} }, clock, true);
