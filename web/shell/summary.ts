import type { Changes } from '../state/live.ts';
import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';

/** Page size of the board. The top bar and the unfiltered list send the same query, so it is cached. */
export const PAGE = 50;

export function useSummary({ q, squad }: { q?: string; squad?: string } = {}) {
  return useQuery(
    'list_board',
    { workspace: workspace.value ?? undefined, ...(q && { q }), ...(squad && { squad }), limit: PAGE },
    { refreshOn: changesBoard },
  );
}

/** True if the order or the counts of runs may have changed; activity of agents does not change them. */
export function changesBoard({ events }: Changes): boolean {
  return events.some(({ body }) =>
    /^(run\.(?!activity)|inbox\.|squad\.|review\.|runs\.|branch\.|worktree\.)/.test(body.type),
  );
}
