import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../base/clock.ts';
import { approvePins, comparePins, confirmEntries, pendingChanges } from '../../core/gateway/pins.ts';
import type { Definition, PendingChange, Pin, PinKey, PinStore } from '../../core/ports/gateway.ts';

/** The pins of one server, shared by all its instances. Changes are made one after another. */
export class ServerPins {
  readonly key: PinKey;
  readonly #store: PinStore;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #isOpen: boolean;
  #pins: Pin[] | null = null;
  #loading: Promise<void> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** `isOpen`: every listed tool is usable, even after a change, without approval. */
  constructor(key: PinKey, store: PinStore, clock: Clock, isOpen = false) {
    this.key = key;
    this.#store = store;
    this.#clock = clock;
    this.#isOpen = isOpen;
  }

  /** Pins of the server. Null if the server was never listed, or if the pins are not loaded. */
  get pins(): readonly Pin[] | null {
    return this.#pins;
  }

  load(): Promise<void> {
    this.#loading ??= this.#store.pins(this.key).then(
      pins => {
        this.#pins = pins;
      },
      error => {
        // The failed attempt is forgotten, so that the next caller tries again.
        this.#loading = null;
        throw error;
      },
    );
    return this.#loading;
  }

  /** Reads the pins again, because another hub may have changed them. */
  async reload(): Promise<void> {
    if (!this.#loading) return;
    const reload = this.#last.then(async () => {
      const stored = await this.#store.pins(this.key);
      if (isDeepStrictEqual(identities(this.#pins), identities(stored))) return;
      this.#pins = stored;
      for (const listener of this.#listeners) listener();
    });
    this.#last = reload.catch(() => {});
    await reload;
  }

  /** Compares the listed tools with the pins, and stores new and changed ones as pending. */
  see(listed: readonly Definition[]): Promise<void> {
    return this.#change(pins => comparePins(this.#isOpen ? null : pins, listed, this.#clock.now()));
  }

  /**
   * Approves the pending changes that `isMeant` selects. `isMeant` is called within the change, because a definition
   * may have changed again since the user saw it. Returns the approved changes.
   */
  async approve(isMeant: (change: PendingChange) => boolean): Promise<PendingChange[]> {
    let approved: PendingChange[] = [];
    await this.#change(pins => {
      approved = pendingChanges(this.key.server, pins ?? []).filter(isMeant);
      const names = approved.map(({ tool }) => tool);
      return names.length === 0 ? pins : approvePins(pins ?? [], names);
    });
    return approved;
  }

  /** Confirms list entries that match nothing, so that they take effect as written. */
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
      const after = next(this.#pins);
      if (after === null || isDeepStrictEqual(identities(this.#pins), identities(after))) return;
      // The pins are on disk before any agent may use the tools.
      await this.#store.savePins(this.key, [...after]);
      this.#pins = [...after];
      for (const listener of this.#listeners) listener();
    });
    this.#last = change.catch(() => {});
    return change;
  }
}

const identities = (pins: readonly Pin[] | null) => pins?.map(({ name, hash, state }) => [name, hash, state]);

/** Returns the same pins for the same key. */
export function createPinRegistry(store: PinStore, clock: Clock) {
  const known = new Map<string, ServerPins>();
  return {
    of(key: PinKey): ServerPins {
      const id = JSON.stringify([key.workspace, key.server, key.source]);
      const pins = known.get(id) ?? new ServerPins(key, store, clock);
      known.set(id, pins);
      return pins;
    },
    /** Reads all pins again, because another hub may have changed them. */
    async reload(): Promise<void> {
      await Promise.all([...known.values()].map(pins => pins.reload()));
    },
  };
}

/**
 * Pins of a server from a subagent file. They approve everything: the user agreed to the file, and nobody is there to
 * approve changes.
 */
export const createOpenPins = (key: PinKey, clock: Clock): ServerPins =>
  new ServerPins(key, { pins: async () => null, savePins: async () => {} }, clock, true);
