import { useState } from 'preact/hooks';
import type { Binding } from '../keys.ts';

/** The chosen item of a list, with the keys `j` and `k` that move the choice. */
export function useChosen<T>(items: readonly T[], noun: string) {
  const [index, choose] = useState(0);
  const last = items.length - 1;
  const move = (key: string, what: string, step: 1 | -1): Binding => ({
    ...{ key, what, repeats: true },
    run: () => choose(Math.max(0, Math.min(index + step, last))),
    when: () => items.length > 0,
  });
  return {
    current: items[Math.min(index, last)],
    choose,
    moves: [move('j', `Next ${noun}`, 1), move('k', `Previous ${noun}`, -1)],
  };
}
