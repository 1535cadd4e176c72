import { usable, usableAlone } from '../../core/gateway/pins.ts';
import { exposedName } from '../../core/gateway/tool-names.ts';
import type { Definition, Pin } from '../../core/ports/gateway.ts';
import type { PinBook } from './pins.ts';
import { compare, type Item } from './read-lists.ts';

/** The tools of one server: what it listed last, held against what is pinned. */
export class PinnedTools {
  readonly #book: PinBook;
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
  constructor(book: PinBook, isAlone: boolean, onChange: () => void) {
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
