import { definitionFault, definitionOf } from '../../core/gateway/definitions.ts';
import { exposedName, exposedUri } from '../../core/gateway/tool-names.ts';
import type { Definition } from '../../core/ports/gateway.ts';
import { withoutHidden } from '../../core/text.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { type Json, UpstreamFault, type UpstreamLink } from '../../wire/upstream/link.ts';
import type { ListKind } from './catalogue.ts';

const MAX_PAGES = 100;
const MAX_ITEMS = 10_000;

/**
 * Every page of a list, as it came. A server that goes on for ever is cut off. Null: it answers that it cannot, on whatever
 * page: a part of a list says nothing of the rest.
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
    const answer: Json | null = await ask(link, method, cursor, timeoutMs);
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

async function ask(
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

const MAX_NAME_LENGTH = 100;

/** Something a server has: its own name for it (of a resource the URI), and its definition as agents see it. */
export interface Item {
  own: string;
  exposed: Definition;
}

interface Read<T> {
  found: T;
  /** What is listed and is no definition to hand on. */
  refused: RefusedDefinition[];
}

/** Reads the lists of one server. What it lists is kept and shown, so a secret in it goes first. */
export class ListReader {
  readonly link: UpstreamLink;
  readonly #server: string;
  readonly #redactor: Redactor;
  readonly #timeoutMs: () => number;

  constructor(link: UpstreamLink, server: string, redactor: Redactor, timeoutMs: () => number) {
    this.link = link;
    this.#server = server;
    this.#redactor = redactor;
    this.#timeoutMs = timeoutMs;
  }

  /** Null: it cannot list its tools now. */
  tools(): Promise<Read<Definition[] | null>> {
    return this.#definitions('tools', 'tools/list', 'tools');
  }

  async prompts(): Promise<Read<Item[]>> {
    const read = await this.#definitions('prompts', 'prompts/list', 'prompts');
    return items(read, ({ name }) => [name, { name: exposedName(this.#server, name) }]);
  }

  async resources(): Promise<Read<Item[]>> {
    const read = await this.#definitions('resources', 'resources/list', 'resources');
    return items(read, ({ uri }) => [uri, { uri: exposedUri(this.#server, String(uri)) }]);
  }

  async templates(): Promise<Read<Item[]>> {
    const read = await this.#definitions('resources', 'resources/templates/list', 'resourceTemplates');
    return items(read, ({ uriTemplate }) => [
      uriTemplate,
      { uriTemplate: exposedUri(this.#server, String(uriTemplate)) },
    ]);
  }

  /** Asked only for what the server says it has. */
  async #definitions(capability: string, method: string, field: string): Promise<Read<Definition[] | null>> {
    if (!this.link.capabilities[capability]) return { found: [], refused: [] };
    const raw = await listPages(this.link, method, field, this.#timeoutMs());
    if (raw === null) return { found: null, refused: [] };
    const found: Definition[] = [];
    const refused: RefusedDefinition[] = [];
    for (const item of raw) {
      const shown = this.#redactor.deep(item);
      const definition = definitionOf(shown, this.#redactor.text);
      if (definition !== null) found.push(definition);
      else refused.push({ name: nameFor(shown, this.#redactor), reason: definitionFault(shown)! });
    }
    return { found, refused };
  }
}

function items(
  { found, refused }: Read<Definition[] | null>,
  nameOf: (definition: Definition) => [unknown, Record<string, string>],
): Read<Item[]> {
  const named = (found ?? []).flatMap(definition => {
    const [own, names] = nameOf(definition);
    return typeof own === 'string' ? [{ own, exposed: { ...definition, ...names } }] : [];
  });
  return { found: named.sort((a, b) => compare(a.own, b.own)), refused };
}

/** For people to know it by, as far as it can be shown. */
function nameFor(raw: unknown, redactor: Redactor): string {
  const name = typeof raw === 'object' && raw !== null && 'name' in raw ? raw.name : null;
  const shown = typeof name === 'string' ? redactor.text(withoutHidden(name)).trim() : '';
  return shown === '' ? '(no name)' : shown.slice(0, MAX_NAME_LENGTH).toWellFormed();
}

/** By code units: the same order on every machine. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Something a server lists that nobody is shown, and why, in a clause. */
export interface RefusedDefinition {
  name: string;
  reason: string;
}

/** A server may list any number of them, and nobody reads more. */
const MAX_REJECTED = 20;

/** What one server lists and nobody is shown, as it was last listed. Each is told of once. */
export class Refused {
  readonly #onNew: (refused: RefusedDefinition) => void;
  readonly #byKind = new Map<ListKind, readonly RefusedDefinition[]>();

  constructor(onNew: (refused: RefusedDefinition) => void) {
    this.#onNew = onNew;
  }

  take(kind: ListKind, refused: readonly RefusedDefinition[]): void {
    const before = this.list(kind);
    const kept = refused.slice(0, MAX_REJECTED);
    this.#byKind.set(kind, kept);
    for (const one of kept)
      if (!before.some(({ name, reason }) => name === one.name && reason === one.reason)) this.#onNew(one);
  }

  list(kind?: ListKind): RefusedDefinition[] {
    const all = kind === undefined ? [...this.#byKind.values()].flat() : (this.#byKind.get(kind) ?? []);
    return all.slice(0, MAX_REJECTED);
  }
}
