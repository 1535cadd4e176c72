import { definitionFault, definitionOf } from '../../core/gateway/definitions.ts';
import { exposedName, exposedUri } from '../../core/gateway/tool-names.ts';
import type { Definition } from '../../core/ports/gateway.ts';
import { withoutHidden } from '../../core/text.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { type Json, UpstreamFault, type UpstreamLink } from '../../wire/upstream/link.ts';

const MAX_PAGES = 100;
const MAX_ITEMS = 10_000;
const MAX_NAME_LENGTH = 100;

/**
 * Reads every page of a list. Cuts off a server that never stops. Null: the server answers a page with an error, whichever page it
 * is: a part of a list says nothing about the rest.
 */
export async function listPages(
  link: UpstreamLink,
  method: string,
  field: string,
  timeoutMs: number,
): Promise<unknown[] | null> {
  const items: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES && items.length < MAX_ITEMS; page++) {
    const answer: Json | null = await requestPage(link, method, cursor, timeoutMs);
    if (answer === null) return null;
    const found = answer[field];
    if (Array.isArray(found)) for (const item of found.slice(0, MAX_ITEMS - items.length)) items.push(item);
    const next = answer.nextCursor;
    if (typeof next !== 'string' || seen.has(next)) break;
    seen.add(next);
    cursor = next;
  }
  return items;
}

async function requestPage(
  link: UpstreamLink,
  method: string,
  cursor: string | null,
  timeoutMs: number,
): Promise<Json | null> {
  try {
    return await link.request(method, cursor === null ? {} : { cursor }, { timeoutMs });
  } catch (error) {
    if (error instanceof UpstreamFault && error.kind === 'answer') return null;
    throw error;
  }
}

/** A tool, prompt, resource or template: the server's own name or URI for it, and its definition as agents see it. */
export interface Item {
  own: string;
  exposed: Definition;
}

/** A definition that agents do not get, and why, in a clause. */
export interface RejectedDefinition {
  name: string;
  reason: string;
}

interface Listed {
  /** Null: the server cannot list them now. */
  found: Definition[] | null;
  rejected: RejectedDefinition[];
}

const LISTS = {
  tools: { capability: 'tools', method: 'tools/list', field: 'tools', key: 'name' },
  prompts: { capability: 'prompts', method: 'prompts/list', field: 'prompts', key: 'name' },
  resources: { capability: 'resources', method: 'resources/list', field: 'resources', key: 'uri' },
  templates: {
    capability: 'resources',
    method: 'resources/templates/list',
    field: 'resourceTemplates',
    key: 'uriTemplate',
  },
};

/** Reads one list, if the server says that it has it. Removes secrets first, because definitions are stored and shown. */
export async function readList(
  link: UpstreamLink,
  kind: keyof typeof LISTS,
  redactor: Redactor,
  timeoutMs: number,
): Promise<Listed> {
  const { capability, method, field } = LISTS[kind];
  if (!link.capabilities[capability]) return { found: [], rejected: [] };
  const raw = await listPages(link, method, field, timeoutMs);
  if (raw === null) return { found: null, rejected: [] };
  const found: Definition[] = [];
  const rejected: RejectedDefinition[] = [];
  for (const item of raw) {
    const clean = redactor.deep(item);
    const definition = definitionOf(clean, redactor.text);
    if (definition !== null) found.push(definition);
    else rejected.push({ name: displayName(clean, redactor), reason: definitionFault(clean)! });
  }
  return { found, rejected };
}

/** The definitions under the names that agents use, sorted. */
export function itemsOf(
  kind: 'prompts' | 'resources' | 'templates',
  server: string,
  definitions: readonly Definition[] | null,
): Item[] {
  const { key } = LISTS[kind];
  const expose = key === 'name' ? exposedName : exposedUri;
  return (definitions ?? [])
    .flatMap(definition => {
      const own = definition[key];
      return typeof own === 'string' ? [{ own, exposed: { ...definition, [key]: expose(server, own) } }] : [];
    })
    .sort((a, b) => compare(a.own, b.own));
}

/** The name of a rejected definition, for people, as far as it can be shown. */
function displayName(raw: unknown, redactor: Redactor): string {
  const name = typeof raw === 'object' && raw !== null && 'name' in raw ? raw.name : null;
  const shown = typeof name === 'string' ? redactor.text(withoutHidden(name)).trim() : '';
  return shown === '' ? '(no name)' : shown.slice(0, MAX_NAME_LENGTH).toWellFormed();
}

/** By code units: the same order on every machine. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
