import type { Usage } from '../../schema/run.ts';

/** Sum over several runs. `isPartial`: an ended run did not report its part, so the real total is higher. */
export interface Total {
  value: number | null;
  isPartial: boolean;
  /** True if at least a part of the sum was calculated from a price list. */
  isEstimated?: boolean;
}

/** Sum of tokens. Null when the engine reported neither input nor output tokens. */
export function tokensOf(usage: Usage | null): number | null {
  if (!usage || (usage.input === null && usage.output === null)) return null;
  return (usage.input ?? 0) + (usage.output ?? 0);
}

export function totalOf(values: (number | null)[]): Total {
  const known = values.filter(value => value !== null);
  const value = known.length === 0 ? null : known.reduce((sum, part) => sum + part, 0);
  return { value, isPartial: known.length < values.length };
}

/** Sum of the known costs. */
export const costOf = (usages: (Usage | null)[]): Total => ({
  ...totalOf(usages.map(usage => usage?.costUsd ?? null)),
  isEstimated: usages.some(usage => usage !== null && usage.costUsd !== null && usage.costIsEstimated),
});

/** Formats like 950, 4.1k, 129k, 1.2M. */
export function formatTokens(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  if (tokens < 9_950) return `${(tokens / 1_000).toFixed(1)}k`;
  if (tokens < 999_500) return `${Math.round(tokens / 1_000)}k`;
  return `${(tokens / 1_000_000).toFixed(1)}M`;
}

/** Small amounts keep their first digits: $0.0042, not $0.00. Estimates are marked with ~. */
export function formatCost(usd: number, isEstimated = false): string {
  return `${isEstimated ? '~' : ''}$${usd > 0 && usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`;
}

/** Formats the known parts: `41k tokens`, `$0.61`. */
export function formatUsage(tokens: Total, cost: Total): string[] {
  const atLeast = ({ isPartial }: Total) => (isPartial ? '≥' : '');
  return [
    ...(tokens.value === null ? [] : [`${atLeast(tokens)}${formatTokens(tokens.value)} tokens`]),
    ...(cost.value === null ? [] : [`${atLeast(cost)}${formatCost(cost.value, cost.isEstimated)}`]),
  ];
}
