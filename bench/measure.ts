import { interruption } from './interruption.ts';

/** Measured values in their order. */
export type Samples = number[];

export interface Pair {
  ours: Samples;
  floor: Samples;
}

/** With fewer pairs, other load on the machine would distort the result. */
export const PAIRS = 20;

/**
 * Measures Squad and the floor alternately, so that other load on the machine affects both alike. The order changes
 * from pair to pair. The first pairs fill caches and do not count.
 */
export async function interleave(
  ours: () => Promise<number>,
  floor: () => Promise<number>,
  { pairs = PAIRS, warmUps = 2 } = {},
): Promise<Pair> {
  const result: Pair = { ours: [], floor: [] };
  for (let i = -warmUps; i < pairs; i++) {
    interruption.throwIfAborted();
    const ofFloorFirst = i % 2 === 0 ? await floor() : null;
    const ofOurs = await ours();
    const ofFloor = ofFloorFirst ?? (await floor());
    if (i < 0) continue;
    result.ours.push(ofOurs);
    result.floor.push(ofFloor);
  }
  return result;
}

export async function repeat(times: number, act: () => Promise<number>): Promise<Samples> {
  const samples: Samples = [];
  for (let i = 0; i < times; i++) {
    interruption.throwIfAborted();
    samples.push(await act());
  }
  return samples;
}

export async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

export const median = (samples: Samples): number => {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return Number.isInteger(middle) ? (sorted[middle - 1]! + sorted[middle]!) / 2 : sorted[Math.floor(middle)]!;
};

/** Compares pair by pair, because the load of the machine changes between pairs. */
const ofPairs = ({ ours, floor }: Pair, compare: (ours: number, floor: number) => number): number =>
  median(ours.map((value, i) => compare(value, floor[i]!)));

export const ratioOf = (pair: Pair): number => ofPairs(pair, (ours, floor) => ours / floor);
export const overOf = (pair: Pair): number => ofPairs(pair, (ours, floor) => ours - floor);

/** Value that 95 % of the samples reach or beat. */
export const p95 = (samples: Samples, best: 'low' | 'high'): number => rank(samples, best, 0.95);
export const p99 = (samples: Samples): number => rank(samples, 'low', 0.99);

/** Nearest rank, which is always a measured value. */
function rank(samples: Samples, best: 'low' | 'high', share: number): number {
  const fromBest = samples.toSorted((a, b) => (best === 'low' ? a - b : b - a));
  return fromBest[Math.ceil(samples.length * share) - 1]!;
}

/** Polls until a condition holds. Fails after a timeout instead of waiting forever. */
export async function until<T>(
  what: string,
  look: () => T | null | false | undefined | Promise<T | null | false | undefined>,
  { everyMs = 5, patienceMs = 120_000 } = {},
): Promise<T> {
  for (
    const end = Date.now() + patienceMs;
    Date.now() < end;
    await new Promise(wake => setTimeout(wake, everyMs))
  ) {
    interruption.throwIfAborted();
    const seen = await look();
    if (seen !== null && seen !== false && seen !== undefined) return seen;
  }
  throw new Error(`It did not become so in time: ${what}`);
}
