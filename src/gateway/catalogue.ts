import { usable } from '../core/gateway/pins.ts';
import type { Redactor } from '../core/gateway/redaction.ts';
import { exposedName } from '../core/gateway/tool-names.ts';
import type { Definition } from '../core/ports/gateway.ts';
import type { UpstreamLink } from '../wire/upstream/link.ts';
import { Coalesced } from './coalesced.ts';
import type { PinBook } from './pin-book.ts';
import { compare, type Item, ListReader } from './read-lists.ts';

export type ListKind = 'tools' | 'resources' | 'prompts';

export interface CatalogueOptions {
  timeoutMs(): number;
  redactor: Redactor;
  onChange(what: ListKind): void;
}

/** What one server has, as it was last listed or, before that, as it was pinned. */
export class Catalogue {
  readonly #book: PinBook;
  readonly #options: CatalogueOptions;
  readonly #leaveBook: () => void;
  #lists: Record<ListKind, Coalesced> | null = null;
  #reader: ListReader | null = null;
  #listed: Definition[] | null = null;
  #isWithdrawn = false;
  #signature = '';
  /** Tools that may be used, whether or not the server is there now, sorted by name. */
  tools: readonly Item[] = [];
  resources: readonly Item[] = [];
  templates: readonly Item[] = [];
  prompts: readonly Item[] = [];

  constructor(book: PinBook, options: CatalogueOptions) {
    this.#book = book;
    this.#options = options;
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
    const { redactor, timeoutMs } = this.#options;
    const reader = new ListReader(link, this.#book.key.server, redactor, timeoutMs);
    this.#reader = reader;
    this.#lists = {
      tools: new Coalesced(() => this.#listTools(reader)),
      resources: new Coalesced(() => this.#listResources(reader)),
      prompts: new Coalesced(() => this.#listPrompts(reader)),
    };
    await Promise.all(Object.values(this.#lists).map(list => list.run()));
    if (!this.#isWithdrawn) return;
    this.#isWithdrawn = false;
    this.#changed();
  }

  /** The server says that a list has changed; it may say so while it is being asked for the first time. */
  relist(what: ListKind): void {
    // A fault of the link is seen by whoever supervises it; the old list stays until then.
    void this.#lists?.[what].run().catch(() => {});
  }

  async #listTools(reader: ListReader): Promise<void> {
    const listed = await reader.tools();
    if (reader !== this.#reader) return;
    this.#listed = listed ?? [];
    // A server that cannot say yet what it has, or has nothing yet, was not seen: its first tools are not late ones.
    if (this.#listed.length > 0 || (listed !== null && this.#book.pins !== null))
      await this.#book.see(this.#listed);
    this.#settle();
  }

  async #listPrompts(reader: ListReader): Promise<void> {
    const prompts = await reader.prompts();
    if (reader !== this.#reader || isSame(prompts, this.prompts)) return;
    this.prompts = prompts;
    this.#options.onChange('prompts');
  }

  async #listResources(reader: ListReader): Promise<void> {
    const [resources, templates] = await Promise.all([reader.resources(), reader.templates()]);
    if (reader !== this.#reader) return;
    if (isSame(resources, this.resources) && isSame(templates, this.templates)) return;
    this.resources = resources;
    this.templates = templates;
    this.#options.onChange('resources');
  }

  /** What may be used of the tools is what was approved and still is: its hash is known, so a change is seen by it. */
  #settle(): void {
    const pins = this.#book.pins ?? [];
    const names = usable(pins, this.#listed ?? undefined);
    const kept = pins
      .filter(({ name, state }) => state === 'approved' && names.has(name))
      .sort((a, b) => compare(a.name, b.name));
    const signature = kept.map(({ name, hash }) => `${hash} ${name}`).join('\n');
    if (signature === this.#signature) return;
    this.#signature = signature;
    const { server } = this.#book.key;
    this.tools = kept.map(({ name, definition }) => ({
      own: name,
      exposed: { ...definition, name: exposedName(server, name) },
    }));
    this.#options.onChange('tools');
  }

  #changed(): void {
    this.#options.onChange('tools');
    if (this.resources.length + this.templates.length > 0) this.#options.onChange('resources');
    if (this.prompts.length > 0) this.#options.onChange('prompts');
  }
}

const isSame = (now: readonly Item[], before: readonly Item[]): boolean =>
  now.length === before.length && JSON.stringify(now) === JSON.stringify(before);
