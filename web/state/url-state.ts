import { useLocation } from 'preact-iso';

/** Address with these query fields. A field with null is removed. */
export function withQuery(url: string, fields: Record<string, string | null>): string {
  const [path, query = ''] = url.split('?', 2) as [string, string?];
  const params = new URLSearchParams(query);
  for (const [name, value] of Object.entries(fields))
    if (value === null || value === '') params.delete(name);
    else params.set(name, value);
  return params.size > 0 ? `${path}?${params}` : path;
}

/** A query parameter and its setter. `replace` adds no history entry; use it while typing. */
export function useParam(
  name: string,
): [string | null, (value: string | null, options?: { replace?: boolean }) => void] {
  const { query, route } = useLocation();
  const set = (value: string | null, { replace = false } = {}) => {
    // Reads the current address, so that two parameters set at once do not undo each other.
    const now = location.pathname + location.search;
    const next = withQuery(now, { [name]: value });
    if (next !== now) route(next, replace);
  };
  return [query[name] ?? null, set];
}
