import { readFileSync, statSync } from 'node:fs';
import { PriceList, SHIPPED_PRICES } from '../../core/cost/prices.ts';

/** Shipped prices, overridden by the user's price file. The file is read again when it changes. */
export function createPrices(file: string, warn: (message: string, cause: unknown) => void): () => PriceList {
  let prices = SHIPPED_PRICES;
  let readAt: number | null = null;
  return () => {
    const changedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? null;
    if (changedAt === readAt) return prices;
    readAt = changedAt;
    prices = SHIPPED_PRICES;
    if (changedAt === null) return prices;
    try {
      prices = { ...SHIPPED_PRICES, ...PriceList.parse(JSON.parse(readFileSync(file, 'utf8'))) };
    } catch (thrown) {
      warn(`${file} is invalid; using the shipped prices`, thrown);
    }
    return prices;
  };
}
