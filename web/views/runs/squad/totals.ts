import type { Usage } from '../../../../src/schema/run.ts';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import type { TreeNode } from './tree.ts';

/** Reported usage of one or several runs. */
export interface Total {
  /** Sum of tokens. Null if no tokens were reported. */
  tokens: number | null;
  costUsd: number | null;
  isEstimated: boolean;
  /** Number of ended runs without a reported cost, which is missing in the sum. */
  unreported: number;
}

/** Totals of each run with everything below it, by id. */
export function totalsOf(nodes: readonly TreeNode[]): Map<string, Total> {
  const totals = new Map<string, Total>();
  const add = ({ card, children }: TreeNode): Total => {
    const total = sumOf([ownOf(card), ...children.map(add)]);
    totals.set(card.id, total);
    return total;
  };
  nodes.forEach(add);
  return totals;
}

export function ownOf({
  usage,
  startedAt,
  endedAt,
}: Pick<RunCard, 'usage' | 'startedAt' | 'endedAt'>): Total {
  return {
    tokens: tokensOf(usage),
    costUsd: usage?.costUsd ?? null,
    isEstimated: usage?.costUsd != null && usage.costIsEstimated,
    unreported: startedAt !== null && endedAt !== null && usage?.costUsd == null ? 1 : 0,
  };
}

export function sumOf(parts: readonly Total[]): Total {
  return {
    tokens: sum(parts.map(({ tokens }) => tokens)),
    costUsd: sum(parts.map(({ costUsd }) => costUsd)),
    isEstimated: parts.some(({ isEstimated }) => isEstimated),
    unreported: parts.reduce((count, { unreported }) => count + unreported, 0),
  };
}

function tokensOf(usage: Usage | null): number | null {
  return usage === null ? null : sum([usage.input, usage.output]);
}

/** Sum of the known parts; null, not 0, if all are unknown. */
function sum(parts: readonly (number | null)[]): number | null {
  const known = parts.filter(part => part !== null);
  return known.length === 0 ? null : known.reduce((one, other) => one + other, 0);
}
