import { type Signal, signal } from '@preact/signals';

export interface QueryState<T, E> {
  data: T | undefined;
  error: E | null;
  isLoading: boolean;
}

export interface Query<T, E> {
  state: Signal<QueryState<T, E>>;
  /** Sends the query again. If a query is in progress, the new one follows it. */
  reload(): void;
  /** Sends the query again, but at most once per pause. */
  reloadSoon(): void;
}

interface Entry<T, E> extends Query<T, E> {
  users: number;
  stop(): void;
}

/** Number of unused queries that stay cached. */
const KEPT_UNUSED = 30;
/**
 * Minimum pause between two queries. Changes arrive with every frame, so without it a list would be queried all the
 * time.
 */
const PAUSE_MS = 300;

/** Shares one query between all components that use it. An older response never replaces a newer one. */
export class QueryCache<E> {
  #entries = new Map<string, Entry<unknown, E>>();

  /** Starts using a query. The returned function releases it. */
  use<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): [Query<T, E>, () => void] {
    const used = (this.#entries.get(key) as Entry<T, E> | undefined) ?? newEntry<T, E>(ask);
    // The query is moved to the end, because the least recently used query is dropped first.
    this.#entries.delete(key);
    this.#entries.set(key, used as Entry<unknown, E>);
    if (used.users++ === 0) used.reload();
    let isGiven = false;
    return [
      used,
      () => {
        if (isGiven) return;
        isGiven = true;
        used.users--;
        this.#forget();
      },
    ];
  }

  reloadAll(isWanted: (data: unknown) => boolean): void {
    for (const [key, entry] of this.#entries) {
      if (entry.users === 0) this.#entries.delete(key);
      else if (isWanted(entry.state.peek().data)) entry.reload();
    }
  }

  #forget(): void {
    const unused = [...this.#entries].filter(([, entry]) => entry.users === 0);
    for (const [key, entry] of unused.slice(0, Math.max(0, unused.length - KEPT_UNUSED))) {
      entry.stop();
      this.#entries.delete(key);
    }
  }
}

function newEntry<T, E>(ask: (signal: AbortSignal) => Promise<T>): Entry<T, E> {
  const state = signal<QueryState<T, E>>({ data: undefined, error: null, isLoading: true });
  let asking: AbortController | null = null;
  let isWantedAgain = false;
  let lastAsked = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function load(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const mine = new AbortController();
    asking = mine;
    lastAsked = performance.now();
    if (!state.peek().isLoading) state.value = { ...state.peek(), isLoading: true };
    try {
      const data = await ask(mine.signal);
      if (!mine.signal.aborted) state.value = { data, error: null, isLoading: false };
    } catch (thrown) {
      if (!mine.signal.aborted) state.value = { ...state.peek(), error: thrown as E, isLoading: false };
    }
    if (asking === mine) asking = null;
    if (isWantedAgain && !mine.signal.aborted) {
      isWantedAgain = false;
      soon();
    }
  }

  function soon(): void {
    if (asking) isWantedAgain = true;
    else timer ??= setTimeout(() => void load(), Math.max(0, lastAsked + PAUSE_MS - performance.now()));
  }

  return {
    state,
    users: 0,
    reloadSoon: soon,
    reload() {
      if (asking) isWantedAgain = true;
      else void load();
    },
    stop() {
      clearTimeout(timer);
      asking?.abort();
    },
  };
}
