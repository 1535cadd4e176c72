/** Runs work of one key in the order it came, each after the one before has ended, however that ended. */
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

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    while (this.last.size > 0) await Promise.all(this.last.values());
  }
}
