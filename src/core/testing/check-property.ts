import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/** Number of random cases for each property. SQUAD_PROPERTY_RUNS sets a higher number. */
const RUNS = Number(process.env.SQUAD_PROPERTY_RUNS ?? 20_000);
export const SEED = Number(process.env.SQUAD_PROPERTY_SEED ?? randomInt(2 ** 31));

/**
 * Tests a property with random cases. The error message contains the seed, and SQUAD_PROPERTY_SEED repeats the same
 * cases.
 */
export function checkProperty<T>(property: fc.IProperty<T>, share = 1, runs = RUNS): void {
  fc.assert(property, { numRuns: Math.max(1, Math.round(runs * share)), seed: SEED });
}
