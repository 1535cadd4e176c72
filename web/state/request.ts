import type { RoutedName } from '../../src/operations/operations.ts';

/** Routes of the operations, which the build inserts. See `vite.config.ts`. */
declare const SQUAD_ROUTES: Readonly<Record<RoutedName, string>>;

export interface Request {
  method: string;
  /** Path below `/api`, with its query. */
  path: string;
  body: string | null;
}

/** Method, path and body of an operation's request. */
export function requestOf(name: RoutedName, input: object = {}): Request {
  const [method, pattern] = SQUAD_ROUTES[name].split(' ') as [string, string];
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = pattern.replace(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest.get(field);
    rest.delete(field);
    return encodeURIComponent(String(value));
  });
  if (method !== 'GET') return { method, path, body: JSON.stringify(Object.fromEntries(rest)) };
  const query = new URLSearchParams();
  for (const [field, value] of rest)
    for (const one of Array.isArray(value) ? value : [value]) query.append(field, String(one));
  return { method, path: query.size > 0 ? `${path}?${query}` : path, body: null };
}

/** Headers are ASCII, so other paths are encoded as in RFC 8187. */
export function workspaceHeader(path: string): string {
  return /^[\x20-\x7e]*$/.test(path) ? path : `utf-8''${encodeURIComponent(path)}`;
}
