import type { EngineEvent } from '../../core/ports/engine.ts';
import type { Usage } from '../../schema/run.ts';
import { amount, type Fields, fields, sum } from '../json-line.ts';

/** Each step reports itself only. */
export class StepUsage {
  #total: Usage = { input: null, output: null, cached: null, costUsd: null, costIsEstimated: false };

  add(part: Fields): EngineEvent[] {
    const tokens = fields(part.tokens);
    const cache = fields(tokens.cache);
    // Its input leaves out what came from the cache, its output leaves out reasoning.
    const input = sum(amount(tokens.input), amount(cache.read), amount(cache.write));
    const output = sum(amount(tokens.output), amount(tokens.reasoning));
    if (!input && !output) return [];
    const { costIsEstimated, ...before } = this.#total;
    this.#total = {
      input: sum(before.input, input),
      output: sum(before.output, output),
      cached: sum(before.cached, amount(cache.read)),
      // For a model without a price it says 0, which is not what it cost.
      costUsd: sum(before.costUsd, amount(part.cost) || null),
      costIsEstimated,
    };
    return [{ type: 'usage', usage: this.#total }];
  }
}
