import type { LanguageModelUsage } from 'ai';
import type { ModelSpec } from '../schema/model-spec.ts';

type Figure = number | null;

/** Every model turn so far, as its provider counted. Null: nobody said. */
export class UsageTotal {
  readonly #prices: ModelSpec['prices'];
  input: Figure = null;
  output: Figure = null;
  cached: Figure = null;
  costUsd: Figure = null;

  constructor(prices: ModelSpec['prices']) {
    this.#prices = prices;
  }

  add(usage: LanguageModelUsage): void {
    this.input = sum(this.input, usage.inputTokens);
    this.output = sum(this.output, usage.outputTokens);
    this.cached = sum(this.cached, usage.inputTokenDetails.cacheReadTokens);
    this.costUsd = sum(this.costUsd, this.#cost(usage));
  }

  #cost({ inputTokens, outputTokens, inputTokenDetails: details }: LanguageModelUsage): number | undefined {
    if (this.#prices === null || inputTokens === undefined || outputTokens === undefined) return undefined;
    const { input, output, cacheRead, cacheWrite } = this.#prices;
    const { cacheReadTokens: read = 0, cacheWriteTokens: written = 0 } = details;
    const fresh = Math.max(0, inputTokens - read - written);
    const millionth =
      fresh * input + read * (cacheRead ?? input) + written * (cacheWrite ?? input) + outputTokens * output;
    return millionth / 1e6;
  }
}

const sum = (so: Figure, more: number | undefined): Figure => (more === undefined ? so : (so ?? 0) + more);
