/** The same numbers for the same seed, so that a round can be played again. */
export interface Random {
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  chance(share: number): boolean;
  pick<T>(from: readonly T[]): T;
  shuffle<T>(list: readonly T[]): T[];
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // Mulberry32: small, and good enough to choose moments.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    chance: share => next() < share,
    pick: from => from[between(0, from.length - 1)]!,
    shuffle(list) {
      const result = [...list];
      for (let i = result.length - 1; i > 0; i--) {
        const j = between(0, i);
        [result[i], result[j]] = [result[j]!, result[i]!];
      }
      return result;
    },
  };
}

/** Each round has numbers of its own, whatever the rounds before it used. */
export const roundSeed = (seed: number, round: number): number =>
  (Math.imul(seed ^ 0x9e3779b9, 2654435761) + Math.imul(round + 1, 40503)) >>> 0;

export const newSeed = (): number => Math.floor(Math.random() * 2 ** 31);
