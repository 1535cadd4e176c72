import { z } from 'zod';
import type { Usage } from '../../schema/run.ts';
import shipped from '../prices.json' with { type: 'json' };

const amount = z.number().min(0);

/** Prices in US dollars per million tokens, by the name of the model. */
export const PriceList = z.record(z.string(), z.object({ input: amount, cached: amount, output: amount }));
export type PriceList = z.infer<typeof PriceList>;

export const SHIPPED_PRICES: PriceList = shipped.models;

/**
 * Matches a date or release at the end of a model name: `gpt-5-2025-08-07` has the price of `gpt-5`, but other models
 * with longer names do not.
 */
const RELEASE = /^[-@:](\d{4}-\d{2}-\d{2}|\d{6,8}|latest|preview)$/;
const MILLION = 1_000_000;

/**
 * Adds the estimated cost if the engine reported only tokens. A model without a price has no cost. Output tokens that
 * are not reported yet do not count: a budget is enforced by known figures.
 */
export function withCost(usage: Usage | null, model: string | null, prices: PriceList): Usage | null {
  if (usage === null || usage.costUsd !== null || model === null) return usage;
  const { input } = usage;
  const price = priceOf(model, prices);
  if (price === null || input === null) return usage;
  const cached = Math.min(usage.cached ?? 0, input);
  const costUsd =
    ((input - cached) * price.input + cached * price.cached + (usage.output ?? 0) * price.output) / MILLION;
  return { ...usage, costUsd, costIsEstimated: true };
}

function priceOf(model: string, prices: PriceList): PriceList[string] | null {
  const name = model.split('/').at(-1)!;
  const known = Object.keys(prices)
    .filter(each => name === each || (name.startsWith(each) && RELEASE.test(name.slice(each.length))))
    .sort((a, b) => b.length - a.length)[0];
  return known === undefined ? null : prices[known]!;
}
