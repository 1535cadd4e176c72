import type { Changes } from '../state/live.ts';
import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';

/** One page of the board: asked for by the top bar and, without a filter, by the list itself. */
export const PAGE = 50;

export function useSummary() {
  return useQuery(
    'list_board',
    { workspace: workspace.value ?? undefined, limit: PAGE },
    { refreshOn: movesRuns },
  );
}

/** What agents say and do changes nothing in how runs are ordered and counted. */
export function movesRuns({ events }: Changes): boolean {
  return events.some(({ body }) => /^(run\.(?!activity)|inbox\.|squad\.|review\.|runs\.)/.test(body.type));
}
