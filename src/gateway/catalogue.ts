import { definitionOf, usable } from '../core/gateway/pins.ts';
import type { Redactor } from '../core/gateway/redaction.ts';
import { exposedName, exposedUri } from '../core/gateway/tool-names.ts';
import type { Definition } from '../core/ports/gateway.ts';
import type { UpstreamLink } from '../wire/upstream/link.ts';
import { listPages } from './list-pages.ts';
import type { PinBook } from './pin-book.ts';

const KINDS = ['tools', 'resources', 'prompts'] as const;
export type ListKind = (typeof KINDS)[number];

/** Something a server has: its own name for it (of a resource the URI), and its definition as agents see it. */
export interface Item {
  own: string;
  exposed: Definition;
}

/** What one server has, as it was last listed or, before that, as it was pinned. */
export class Catalogue {
  readonly #book: PinBook;
  readonly #timeoutMs: () => number;
  readonly #redactor: Redactor;
  readonly #onChange: (what: ListKind) => void;
  readonly #underWay = new Map<ListKind, Promise<void>>();
  readonly #toCome = new Map<ListKind, Promise<void>>();
  readonly #leaveBook: () => void;
  #link: UpstreamLink | null = null;
  #listed: Definition[] | null = null;
  #isWithdrawn = false;
  #signature = '';
  /** Tools that may be used, whether or not the server is there now, sorted by name. */
  tools: readonly Item[] = [];
  resources: readonly Item[] = [];
  templates: readonly Item[] = [];
  prompts: readonly Item[] = [];

  constructor(
    book: PinBook,
    options: { timeoutMs: () => number; redactor: Redactor; onChange(what: ListKind): void },
  ) {
    this.#book = book;
    this.#timeoutMs = options.timeoutMs;
    this.#redactor = options.redactor;
    this.#onChange = options.onChange;
    this.#leaveBook = book.onChange(() => this.#settle());
    this.#settle();
  }

  dispose(): void {
    this.#leaveBook();
  }

  /** Whether the server was asked in this life. */
  get wasListed(): boolean {
    return this.#listed !== null;
  }

  /** Whether it is known what tools there are: the server was listed, now or in an earlier life. */
  get isKnown(): boolean {
    return this.#listed !== null || this.#book.pins !== null;
  }

  /** The server is gone: what it has is not shown until it is back. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn;
  }

  get toolCount(): number | null {
    return this.#listed?.length ?? this.#book.pins?.length ?? null;
  }

  get pendingCount(): number {
    return (this.#book.pins ?? []).filter(pin => pin.state === 'pending').length;
  }

  /** Every tool listed, also those that wait. */
  get listedTools(): readonly Definition[] {
    return this.#listed ?? (this.#book.pins ?? []).map(pin => pin.definition);
  }

  async load(): Promise<void> {
    await this.#book.load();
    this.#settle();
  }

  withdraw(): void {
    if (this.#isWithdrawn) return;
    this.#isWithdrawn = true;
    this.#changed();
  }

  /** Asks for all that the server says it has. */
  async list(link: UpstreamLink): Promise<void> {
    this.#link = link;
    this.#underWay.clear();
    this.#toCome.clear();
    await Promise.all(KINDS.map(what => this.#refresh(link, what)));
    if (!this.#isWithdrawn) return;
    this.#isWithdrawn = false;
    this.#changed();
  }

  /** The server says that a list has changed; it may say so while it is being asked for the first time. */
  relist(what: ListKind): void {
    // A fault of the link is seen by whoever supervises it; the old list stays until then.
    if (this.#link !== null) void this.#refresh(this.#link, what).catch(() => {});
  }

  /** However often it is called, there is one listing under way and at most one to come. */
  #refresh(link: UpstreamLink, what: ListKind): Promise<void> {
    const toCome = this.#toCome.get(what);
    if (toCome !== undefined) return toCome;
    const before = this.#underWay.get(what);
    const listing =
      before === undefined
        ? this.#ask(link, what)
        : before
            .catch(() => {})
            .then(() => {
              this.#toCome.delete(what);
              this.#underWay.set(what, listing);
              return this.#ask(link, what);
            });
    (before === undefined ? this.#underWay : this.#toCome).set(what, listing);
    const done = () => {
      if (this.#underWay.get(what) === listing) this.#underWay.delete(what);
    };
    listing.then(done, done);
    return listing;
  }

  #ask(link: UpstreamLink, what: ListKind): Promise<void> {
    if (what === 'tools') return this.#listTools(link);
    return what === 'prompts' ? this.#listPrompts(link) : this.#listResources(link);
  }

  async #listTools(link: UpstreamLink): Promise<void> {
    const listed = await this.#pages(link, 'tools', 'tools/list', 'tools');
    if (link !== this.#link) return;
    this.#listed = listed;
    await this.#book.see(this.#listed);
    this.#settle();
  }

  async #listPrompts(link: UpstreamLink): Promise<void> {
    const found = await this.#pages(link, 'prompts', 'prompts/list', 'prompts');
    if (link !== this.#link) return;
    const { server } = this.#book.key;
    this.#take('prompts', 'prompts', found, ({ name }) => [name, { name: exposedName(server, name) }]);
  }

  async #listResources(link: UpstreamLink): Promise<void> {
    const { server } = this.#book.key;
    const [resources, templates] = await Promise.all([
      this.#pages(link, 'resources', 'resources/list', 'resources'),
      this.#pages(link, 'resources', 'resources/templates/list', 'resourceTemplates'),
    ]);
    if (link !== this.#link) return;
    this.#take('resources', 'resources', resources, ({ uri }) => [
      uri,
      { uri: exposedUri(server, String(uri)) },
    ]);
    this.#take('templates', 'resources', templates, ({ uriTemplate }) => [
      uriTemplate,
      { uriTemplate: exposedUri(server, String(uriTemplate)) },
    ]);
  }

  /** Asked only for what the server says it has. What it lists is kept on disk, so a secret in it goes before that. */
  async #pages(link: UpstreamLink, capability: string, method: string, field: string): Promise<Definition[]> {
    if (!link.capabilities[capability]) return [];
    const raw = await listPages(link, method, field, this.#timeoutMs());
    return raw.flatMap(item => definitionOf(this.#redactor.deep(item)) ?? []);
  }

  #take(
    field: 'resources' | 'templates' | 'prompts',
    what: ListKind,
    found: Definition[],
    nameOf: (definition: Definition) => [unknown, Record<string, string>],
  ): void {
    const items = sorted(
      found.flatMap(definition => {
        const [own, names] = nameOf(definition);
        return typeof own === 'string' ? [{ own, exposed: { ...definition, ...names } }] : [];
      }),
    );
    if (JSON.stringify(items) === JSON.stringify(this[field])) return;
    this[field] = items;
    this.#onChange(what);
  }

  /** What may be used of the tools, from what is listed and what is pinned. What may be used is what was approved, so its hash is known. */
  #settle(): void {
    const approved = (this.#book.pins ?? []).filter(pin => pin.state === 'approved');
    const names = usable(this.#book.pins ?? [], this.#listed ?? undefined);
    const kept = approved.filter(({ name }) => names.has(name)).sort(byName);
    const signature = kept.map(({ name, hash }) => `${hash} ${name}`).join('\n');
    if (signature === this.#signature) return;
    this.#signature = signature;
    const { server } = this.#book.key;
    this.tools = kept.map(({ name, definition }) => ({
      own: name,
      exposed: { ...definition, name: exposedName(server, name) },
    }));
    this.#onChange('tools');
  }

  #changed(): void {
    this.#onChange('tools');
    if (this.resources.length + this.templates.length > 0) this.#onChange('resources');
    if (this.prompts.length > 0) this.#onChange('prompts');
  }
}

const byName = (a: { name: string }, b: { name: string }): number => compare(a.name, b.name);
const sorted = (items: Item[]): Item[] => items.sort((a, b) => compare(a.own, b.own));
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
