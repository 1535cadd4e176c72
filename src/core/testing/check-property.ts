import fc from 'fast-check';

/** How often a property is tried: SQUAD_PROPERTY_RUNS for a longer look. */
const RUNS = Number(process.env.SQUAD_PROPERTY_RUNS ?? 20_000);
const SEED = process.env.SQUAD_PROPERTY_SEED;

/** Tries a property; where it fails, the message has the seed, and SQUAD_PROPERTY_SEED repeats it. */
export function checkProperty<T>(property: fc.IProperty<T>, share = 1): void {
  fc.assert(property, {
    numRuns: Math.max(1, Math.round(RUNS * share)),
    ...(SEED !== undefined && { seed: Number(SEED) }),
  });
}
