import type { RoutedName } from '../../src/operations/operations.ts';

/** Defined in `vite.config.ts`. */
declare const SQUAD_ROUTES: Readonly<Record<RoutedName, string>>;

export interface Request {
  method: string;
  /** With its query, below `/api`. */
  path: string;
  body: string | null;
}

/** Where an operation is asked for, and how its input gets there. */
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

/** A header holds ASCII; other paths are said in the way RFC 8187 has for that. */
export function workspaceHeader(path: string): string {
  return /^[\x20-\x7e]*$/.test(path) ? path : `utf-8''${encodeURIComponent(path)}`;
}
