import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/** How often a property is tried: SQUAD_PROPERTY_RUNS for a longer look. */
const RUNS = Number(process.env.SQUAD_PROPERTY_RUNS ?? 20_000);
export const SEED = Number(process.env.SQUAD_PROPERTY_SEED ?? randomInt(2 ** 31));

/** Tries a property; where it fails, the message has the seed, and SQUAD_PROPERTY_SEED repeats it. */
export function checkProperty<T>(property: fc.IProperty<T>, share = 1, runs = RUNS): void {
  fc.assert(property, { numRuns: Math.max(1, Math.round(runs * share)), seed: SEED });
}
