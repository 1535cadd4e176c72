import type { Definition } from '../../core/ports/gateway.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { UpstreamLink } from '../../wire/upstream/link.ts';
import { Coalesced } from './coalesced.ts';
import { PinnedTools } from './pinned-tools.ts';
import type { PinBook } from './pins.ts';
import { type Item, ListReader } from './read-lists.ts';
import { Refused, type RefusedDefinition } from './refused.ts';

export type ListKind = 'tools' | 'resources' | 'prompts';

export interface CatalogueOptions {
  timeoutMs(): number;
  /** It is one run's own. */
  isAlone: boolean;
  redactor: Redactor;
  onChange(what: ListKind): void;
  /** Something it lists that is not handed on. */
  onRefused(refused: RefusedDefinition): void;
}

/** What one server has, as it was last listed or, before that, as it was pinned. */
export class Catalogue {
  readonly #server: string;
  readonly #options: CatalogueOptions;
  readonly #tools: PinnedTools;
  readonly #refused: Refused;
  #lists: Record<ListKind, Coalesced> | null = null;
  #reader: ListReader | null = null;
  #isWithdrawn = false;
  /** Whether the server has said once, since this is kept, all that it has. */
  wasListed = false;
  resources: readonly Item[] = [];
  templates: readonly Item[] = [];
  prompts: readonly Item[] = [];

  constructor(book: PinBook, options: CatalogueOptions) {
    this.#server = book.key.server;
    this.#options = options;
    this.#tools = new PinnedTools(book, options.isAlone, () => options.onChange('tools'));
    this.#refused = new Refused(refused => options.onRefused(refused));
  }

  dispose(): void {
    this.#tools.dispose();
  }

  /** Tools that may be used, whether or not the server is there now, sorted by name. */
  get tools(): readonly Item[] {
    return this.#tools.items;
  }

  get isKnown(): boolean {
    return this.#tools.isKnown;
  }

  /** The names of all tools that are listed or pinned; null while nobody knows. The same set until it changes. */
  get knownTools(): ReadonlySet<string> | null {
    return this.#tools.known;
  }

  /** Every tool listed, also those that wait. */
  get listedTools(): readonly Definition[] {
    return this.#tools.listed;
  }

  /** What it lists of this kind and nobody is shown; of all kinds without one. A few of many. */
  refused(kind?: ListKind): RefusedDefinition[] {
    return this.#refused.list(kind);
  }

  /** The server is gone: what it has is not shown until it is back. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn;
  }

  load(): Promise<void> {
    return this.#tools.load();
  }

  withdraw(): void {
    if (this.#isWithdrawn) return;
    this.#isWithdrawn = true;
    this.#changed();
  }

  /** Asks for all that the server says it has. */
  async list(link: UpstreamLink): Promise<void> {
    const { redactor, timeoutMs } = this.#options;
    const reader = new ListReader(link, this.#server, redactor, timeoutMs);
    this.#reader = reader;
    this.#lists = {
      tools: new Coalesced(() => this.#listTools(reader)),
      resources: new Coalesced(() => this.#listResources(reader)),
      prompts: new Coalesced(() => this.#listPrompts(reader)),
    };
    await Promise.all(Object.values(this.#lists).map(list => list.run()));
    if (reader !== this.#reader) return;
    this.wasListed = true;
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
    const { found, refused } = await reader.tools();
    if (reader !== this.#reader) return;
    this.#refused.take('tools', refused);
    await this.#tools.take(found);
  }

  async #listPrompts(reader: ListReader): Promise<void> {
    const { found, refused } = await reader.prompts();
    if (reader !== this.#reader) return;
    this.#refused.take('prompts', refused);
    if (isSame(found, this.prompts)) return;
    this.prompts = found;
    this.#options.onChange('prompts');
  }

  async #listResources(reader: ListReader): Promise<void> {
    const [resources, templates] = await Promise.all([reader.resources(), reader.templates()]);
    if (reader !== this.#reader) return;
    this.#refused.take('resources', [...resources.refused, ...templates.refused]);
    if (isSame(resources.found, this.resources) && isSame(templates.found, this.templates)) return;
    this.resources = resources.found;
    this.templates = templates.found;
    this.#options.onChange('resources');
  }

  #changed(): void {
    this.#options.onChange('tools');
    if (this.resources.length + this.templates.length > 0) this.#options.onChange('resources');
    if (this.prompts.length > 0) this.#options.onChange('prompts');
  }
}

const isSame = (now: readonly Item[], before: readonly Item[]): boolean =>
  now.length === before.length && JSON.stringify(now) === JSON.stringify(before);
