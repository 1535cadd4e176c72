/** What is done under one key is done in the order it came, each after the one before has ended, however that ended. */
export class OneAtATime<K> {
  private readonly last = new Map<K, Promise<unknown>>();

  run<T>(key: K, act: () => Promise<T>): Promise<T> {
    const before = this.last.get(key) ?? Promise.resolve();
    const result = before.then(act);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.last.set(key, settled);
    void settled.then(() => {
      if (this.last.get(key) === settled) this.last.delete(key);
    });
    return result;
  }

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    while (this.last.size > 0) await Promise.all(this.last.values());
  }
}

/** One thing at a time for each key, in the order asked for. */
export type KeyedQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const before = last.get(key) ?? Promise.resolve();
    const mine = before.then(work);
    // Whoever comes next waits for the end of this one, whatever that end is.
    const end = mine.catch(() => {});
    last.set(key, end);
    void end.then(() => {
      if (last.get(key) === end) last.delete(key);
    });
    return mine;
  };
}
