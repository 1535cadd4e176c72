/** So many starts at once, the rest in the order they came: a cold start of many servers must not take the machine. */
export interface StartLimit {
  run<T>(start: () => Promise<T>): Promise<T>;
}

export function createStartLimit(most: number): StartLimit {
  const waiting: (() => void)[] = [];
  let running = 0;

  return {
    async run(start) {
      if (running >= most) await new Promise<void>(resolve => waiting.push(resolve));
      else running += 1;
      try {
        return await start();
      } finally {
        // The place is handed on without being given up, so that nobody slips in between.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
