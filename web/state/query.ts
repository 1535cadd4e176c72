import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Input, Output, RoutedName } from '../../src/operations/operations.ts';
import { type ApiError, asApiError, call } from './api.ts';
import { type Changes, lastSeq, onChanges } from './live.ts';
import { QueryCache } from './query-cache.ts';

export interface QueryOptions {
  workspace?: string;
  /** Returns whether these changes make the data outdated. After a reset all data is outdated. */
  refreshOn?: (changes: Changes) => boolean;
}

export interface QueryResult<T> {
  /** The last data; kept while the query is sent again. */
  data: T | undefined;
  /** True if `data` belongs to this input, false if it still belongs to the previous one. */
  isOf: boolean;
  error: ApiError | null;
  isLoading: boolean;
  reload(): void;
}

const cache = new QueryCache<ApiError>();
onChanges(({ isReset }) => {
  if (isReset) cache.reloadAll(isOld);
});

/** Queries the hub and keeps the result up to date. With a null input nothing is queried. */
export function useQuery<N extends RoutedName>(
  name: N,
  input: Input<N> | null,
  { workspace, refreshOn }: QueryOptions = {},
): QueryResult<Output<N>> {
  const key = input === null ? null : JSON.stringify([name, input, workspace]);
  const [query, release] = useMemo(
    () =>
      key === null
        ? NOTHING
        : cache.use(key, signal => asked(call(name, input as Input<N>, { workspace, signal }))),
    [key],
  );
  useEffect(() => release, [release]);

  const isWanted = useRef(refreshOn);
  isWanted.current = refreshOn;
  useEffect(
    () => onChanges(changes => !changes.isReset && isWanted.current?.(changes) && query?.reloadSoon()),
    [query],
  );

  const state = query?.state.value;
  const before = useRef<Output<N> | undefined>(undefined);
  if (state?.data !== undefined) before.current = state.data as Output<N>;
  return {
    data: key === null ? undefined : before.current,
    isOf: state?.data !== undefined,
    error: state?.error ?? null,
    isLoading: state?.isLoading ?? false,
    reload: () => query?.reload(),
  };
}

const NOTHING: [null, () => void] = [null, () => {}];

/** Converts every error to an ApiError, which views can show. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (thrown) {
    throw asApiError(thrown);
  }
}

/**
 * Whether the data is older than the last received event. Some responses contain the number of the last event they
 * include.
 */
function isOld(data: unknown): boolean {
  const last = (data as { last?: unknown } | undefined)?.last;
  return typeof last !== 'number' || last < lastSeq.peek();
}
