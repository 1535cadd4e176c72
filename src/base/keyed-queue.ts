/** Runs work of the same key in order of arrival; each starts after the previous one has ended, even if that failed. */
export class KeyedQueue<K> {
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

  /** Resolves when no work is in progress. */
  async idle(): Promise<void> {
    while (this.last.size > 0) await Promise.all(this.last.values());
  }
}
