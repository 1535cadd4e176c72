import type { EngineEvent } from '../../core/ports/engine.ts';
import { amount, type Fields, fields } from '../json-line.ts';

/** Its input tokens include those from the cache; its output tokens leave out thinking, its total does not. */
export function usageIn(stats: Fields): EngineEvent[] {
  const input = amount(stats.input_tokens);
  const output = amount(stats.output_tokens);
  const total = amount(stats.total_tokens);
  if (!total && !input && !output) return []; // zeros of a turn that reached no model
  const all = total !== null && input !== null ? Math.max(total - input, output ?? 0) : output;
  return [
    {
      type: 'usage',
      usage: { input, output: all, cached: amount(stats.cached), costUsd: null, costIsEstimated: false },
    },
  ];
}

/** The model that did most of the work: the one asked for may have been a name for several. */
export function modelIn(stats: Fields): EngineEvent[] {
  const used = Object.entries(fields(stats.models))
    .map(([model, figures]) => ({ model, tokens: amount(fields(figures).total_tokens) ?? 0 }))
    .filter(({ tokens }) => tokens > 0)
    .sort((a, b) => b.tokens - a.tokens);
  return used[0] ? [{ type: 'model', model: used[0].model }] : [];
}
