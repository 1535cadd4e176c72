/** So many at once; others wait, in the order they came. */
export interface Places {
  /** Acts when there is a place. Rejects with the signal's reason when it is aborted before. */
  hold<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T>;
}

export function createPlaces(most: number): Places {
  const waiting = new Set<() => void>();
  let taken = 0;

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (taken < most) {
      taken++;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      waiting.delete(resolve);
      reject(signal.reason);
    };
    waiting.add(resolve);
    signal.addEventListener('abort', giveUp, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  /** Whoever is next has the place at once: nobody who comes meanwhile can take it. */
  function leave(): void {
    const [next] = waiting;
    if (next === undefined) taken--;
    else {
      waiting.delete(next);
      next();
    }
  }

  return {
    async hold(signal, act) {
      await enter(signal);
      try {
        return await act();
      } finally {
        leave();
      }
    },
  };
}
