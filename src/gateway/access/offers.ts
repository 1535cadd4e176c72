import { matchesWildcard, NameTable } from '../../core/gateway/tool-names.ts';
import type { Definition } from '../../core/ports/gateway.ts';
import type { RunServer } from './run-servers.ts';

export type OfferKind = 'tools' | 'resources' | 'templates' | 'prompts';

/** The definitions of one kind that a run gets from its servers. */
export interface Offer {
  /** For lists: without those of servers that are down. */
  shown: Definition[];
  /** By exposed name, also those of servers that are down: a caller gets the reason. `own` is the server's own name. */
  byName: ReadonlyMap<string, { server: RunServer; own: string }>;
}

export function offerOf(
  kind: OfferKind,
  servers: readonly RunServer[],
  isGranted: (server: RunServer, own: string) => boolean,
  onClash: (name: string) => void,
): Offer {
  const granted = servers.flatMap(server =>
    (server.pooled?.catalogue[kind] ?? [])
      .filter(({ own }) => isGranted(server, own))
      .map(item => ({ server, ...item })),
  );
  const names =
    kind === 'tools' || kind === 'prompts'
      ? new NameTable(granted.map(({ server, own }) => [server.id, own]))
      : null;
  for (const { name } of names?.clashes ?? []) onClash(name);
  const offer = { shown: [] as Definition[], byName: new Map<string, { server: RunServer; own: string }>() };
  for (const { server, own, exposed } of granted) {
    if (names !== null && names.nameOf(server.id, own) === null) continue;
    offer.byName.set(exposed.name, { server, own });
    if (server.pooled?.catalogue.isWithdrawn === false) offer.shown.push(exposed);
  }
  return offer;
}

/**
 * Whether a template may have made this URI. `{name}` stands for text within one path segment; only forms that are made for more,
 * such as `{+path}`, cross slashes. No template makes a path with `..`.
 */
export function matchesUriTemplate(template: string, uri: string): boolean {
  if (uri.includes('*') || /(^|[/\\]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i.test(uri)) return false;
  const literal = template.replace(/\{[^{}]*\}/g, '');
  if (literal.includes('*') || !matchesWildcard(template.replace(/\{[^{}]*\}/g, '*'), uri)) return false;
  return /\{[+#/][^{}]*\}|\{[^{}]*\*\}/.test(template) || slashes(uri) === slashes(literal);
}

const slashes = (text: string): number => text.split('/').length - 1;
