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
