import type { LanguageModelUsage } from 'ai';
import type { ModelSpec } from '../schema/model-spec.ts';

type Figure = number | null;
const NAMES = ['input', 'output', 'cached', 'costUsd'] as const;
type Figures = Record<(typeof NAMES)[number], Figure>;

/** Sums up the usage of all model turns, as reported by the provider. */
export class UsageTotal {
  readonly #prices: ModelSpec['prices'];
  readonly #turns: Figures[] = [];

  constructor(prices: ModelSpec['prices']) {
    this.#prices = prices;
  }

  add(usage: LanguageModelUsage): void {
    this.#turns.push({
      input: usage.inputTokens ?? null,
      output: usage.outputTokens ?? null,
      cached: usage.inputTokenDetails.cacheReadTokens ?? null,
      costUsd: this.#cost(usage),
    });
  }

  /** A figure is null unless every turn reported it: a partial sum would look like the total. */
  get figures(): Figures {
    return Object.fromEntries(NAMES.map(name => [name, sumOf(this.#of(name))])) as Figures;
  }

  /** True if some turns reported a figure and others did not. */
  get isPartial(): boolean {
    return NAMES.some(name => new Set(this.#of(name).map(figure => figure === null)).size === 2);
  }

  #of(name: keyof Figures): Figure[] {
    return this.#turns.map(turn => turn[name]);
  }

  #cost({ inputTokens, outputTokens, inputTokenDetails: details }: LanguageModelUsage): Figure {
    if (this.#prices === null || inputTokens === undefined || outputTokens === undefined) return null;
    const { input, output, cacheRead, cacheWrite } = this.#prices;
    const { cacheReadTokens: read = 0, cacheWriteTokens: written = 0 } = details;
    const fresh = Math.max(0, inputTokens - read - written);
    const millionth =
      fresh * input + read * (cacheRead ?? input) + written * (cacheWrite ?? input) + outputTokens * output;
    return millionth / 1e6;
  }
}

const sumOf = (figures: readonly Figure[]): Figure =>
  figures.reduce(
    (sum, figure) => (sum === null || figure === null ? null : sum + figure),
    figures.length > 0 ? 0 : null,
  );
