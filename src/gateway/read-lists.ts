import { definitionOf } from '../core/gateway/pins.ts';
import type { Redactor } from '../core/gateway/redaction.ts';
import { exposedName, exposedUri } from '../core/gateway/tool-names.ts';
import type { Definition } from '../core/ports/gateway.ts';
import type { UpstreamLink } from '../wire/upstream/link.ts';
import { listPages } from './list-pages.ts';

/** Something a server has: its own name for it (of a resource the URI), and its definition as agents see it. */
export interface Item {
  own: string;
  exposed: Definition;
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
  tools(): Promise<Definition[] | null> {
    return this.#definitions('tools', 'tools/list', 'tools');
  }

  async prompts(): Promise<Item[]> {
    const found = await this.#definitions('prompts', 'prompts/list', 'prompts');
    return items(found, ({ name }) => [name, { name: exposedName(this.#server, name) }]);
  }

  async resources(): Promise<Item[]> {
    const found = await this.#definitions('resources', 'resources/list', 'resources');
    return items(found, ({ uri }) => [uri, { uri: exposedUri(this.#server, String(uri)) }]);
  }

  async templates(): Promise<Item[]> {
    const found = await this.#definitions('resources', 'resources/templates/list', 'resourceTemplates');
    return items(found, ({ uriTemplate }) => [
      uriTemplate,
      { uriTemplate: exposedUri(this.#server, String(uriTemplate)) },
    ]);
  }

  /** Asked only for what the server says it has. */
  async #definitions(capability: string, method: string, field: string): Promise<Definition[] | null> {
    if (!this.link.capabilities[capability]) return [];
    const raw = await listPages(this.link, method, field, this.#timeoutMs());
    return raw === null ? null : raw.flatMap(item => definitionOf(this.#redactor.deep(item)) ?? []);
  }
}

function items(
  found: Definition[] | null,
  nameOf: (definition: Definition) => [unknown, Record<string, string>],
): Item[] {
  const named = (found ?? []).flatMap(definition => {
    const [own, names] = nameOf(definition);
    return typeof own === 'string' ? [{ own, exposed: { ...definition, ...names } }] : [];
  });
  return named.sort((a, b) => compare(a.own, b.own));
}

/** By code units: the same order on every machine. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
