import { usable, usableAlone } from '../../core/gateway/pins.ts';
import { exposedName } from '../../core/gateway/tool-names.ts';
import type { Definition, Pin } from '../../core/ports/gateway.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { UpstreamLink } from '../../wire/upstream/link.ts';
import type { ServerPins } from './pins.ts';
import { compare, type Item, ListReader, Refused, type RefusedDefinition } from './read-lists.ts';

/** Work that is asked for over and over: one turn of it under way, and at most one to come, whoever asks meanwhile. */
class CoalescedTask {
  readonly #work: () => Promise<void>;
  #underWay: Promise<void> | null = null;
  #toCome: Promise<void> | null = null;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Settles when a turn that began after this was called is over. */
  run(): Promise<void> {
    if (this.#underWay === null) return this.#begin();
    this.#toCome ??= this.#underWay
      .catch(() => {})
      .then(() => {
        this.#toCome = null;
        return this.#begin();
      });
    return this.#toCome;
  }

  #begin(): Promise<void> {
    const turn = this.#work().finally(() => {
      if (this.#underWay === turn) this.#underWay = null;
    });
    this.#underWay = turn;
    return turn;
  }
}

/** The tools of one server: what it listed last, held against what is pinned. */
class PinnedTools {
  readonly #book: ServerPins;
  readonly #onChange: () => void;
  readonly #isAlone: boolean;
  readonly #leaveBook: () => void;
  #listed: Definition[] | null = null;
  #signature = '';
  /** Those that may be used, whether or not the server is there now, sorted by name. */
  items: readonly Item[] = [];
  /**
   * Whether it is known what there is: the server was listed, now or in an earlier life. What was listed counts when it has been
   * held against the pins: before that, `items` is not what there is.
   */
  isKnown = false;
  /** The names of all tools it lists, or that are pinned of it, approved or not; null while nobody knows. The same set until it changes. */
  known: ReadonlySet<string> | null = null;

  /** `isAlone`: the server is one run's own, so what others list is nothing to it. */
  constructor(book: ServerPins, isAlone: boolean, onChange: () => void) {
    this.#book = book;
    this.#isAlone = isAlone;
    this.#onChange = onChange;
    this.#leaveBook = book.onChange(() => this.#settle());
    this.#settle();
  }

  dispose(): void {
    this.#leaveBook();
  }

  /** Also those that wait. */
  get listed(): readonly Definition[] {
    return this.#listed ?? (this.#book.pins ?? []).filter(isTool).map(pin => pin.definition);
  }

  async load(): Promise<void> {
    await this.#book.load();
    this.#settle();
  }

  /** Null: the server cannot say now. */
  async take(listed: Definition[] | null): Promise<void> {
    this.#listed = listed ?? [];
    // A server that cannot say yet what it has, or has nothing yet, was not seen: its first tools are not late ones.
    if (this.#listed.length > 0 || (listed !== null && this.#book.pins !== null))
      await this.#book.see(this.#listed);
    this.isKnown = true;
    this.#settle();
  }

  /** What may be used is what was approved and still is: its hash is known, so a change is seen by it. */
  #settle(): void {
    this.isKnown ||= this.#book.pins !== null;
    const pins = this.#book.pins ?? [];
    const names =
      this.#isAlone && this.#listed !== null
        ? usableAlone(pins, this.#listed)
        : usable(pins, this.#listed ?? undefined);
    const kept = pins
      .filter(({ name, state }) => state === 'approved' && names.has(name))
      .sort((a, b) => compare(a.name, b.name));
    const isOther = this.#renewKnown(pins);
    const signature = kept.map(({ name, hash }) => `${hash} ${name}`).join('\n');
    if (signature === this.#signature) {
      if (isOther) this.#onChange();
      return;
    }
    this.#signature = signature;
    const { server } = this.#book.key;
    this.items = kept.map(({ name, definition }) => ({
      own: name,
      exposed: { ...definition, name: exposedName(server, name) },
    }));
    this.#onChange();
  }

  #renewKnown(pins: readonly Pin[]): boolean {
    const names = [...pins.map(pin => pin.name), ...(this.#listed ?? []).map(tool => tool.name)];
    // A server that has listed nothing yet was not seen.
    const known = names.length === 0 && this.#book.pins === null ? null : new Set(names);
    if (known?.size === this.known?.size && names.every(name => this.known?.has(name))) return false;
    this.known = known;
    return true;
  }
}

const isTool = ({ state }: Pin): boolean => state !== 'confirmed';

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
  #lists: Record<ListKind, CoalescedTask> | null = null;
  #reader: ListReader | null = null;
  #isWithdrawn = false;
  /** Whether the server has said once, since this is kept, all that it has. */
  wasListed = false;
  resources: readonly Item[] = [];
  templates: readonly Item[] = [];
  prompts: readonly Item[] = [];

  constructor(book: ServerPins, options: CatalogueOptions) {
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
      tools: new CoalescedTask(() => this.#listTools(reader)),
      resources: new CoalescedTask(() => this.#listResources(reader)),
      prompts: new CoalescedTask(() => this.#listPrompts(reader)),
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
