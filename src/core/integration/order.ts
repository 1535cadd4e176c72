import { overlapOf, type Touching } from './overlap.ts';

export interface Orderable extends Touching {
  endedAt: number | null;
}

/**
 * In which order branches are best merged: what touches nobody else's files first, so that it is in whatever becomes of
 * the rest; of those alike, the one that ended first.
 */
export function suggestedOrder<T extends Orderable>(runs: readonly T[]): T[] {
  const shared = new Map<string, number>();
  for (const { runs: among } of overlapOf(runs).files)
    for (const id of among) shared.set(id, (shared.get(id) ?? 0) + 1);
  const overlap = ({ runId }: T) => shared.get(runId) ?? 0;
  const end = ({ endedAt }: T) => endedAt ?? Number.POSITIVE_INFINITY;
  return runs.toSorted(
    (a, b) => overlap(a) - overlap(b) || compare(end(a), end(b)) || compare(a.runId, b.runId),
  );
}

const compare = <V extends number | string>(a: V, b: V): number => (a < b ? -1 : a > b ? 1 : 0);
