import { definitionFault, definitionOf } from '../../core/gateway/definitions.ts';
import { usable, usableAlone } from '../../core/gateway/pins.ts';
import { exposedName, exposedUri } from '../../core/gateway/tool-names.ts';
import type { Definition, Pin } from '../../core/ports/gateway.ts';
import { withoutHidden } from '../../core/text.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { type Json, UpstreamFault, type UpstreamLink } from '../../wire/upstream/link.ts';
import type { ServerPins } from './pins.ts';

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

/** Work that many ask for: one turn runs and at most one waits, whoever asks meanwhile. */
class CoalescedTask {
  readonly #work: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Settles when a turn that began after this call is over. */
  run(): Promise<void> {
    if (this.#running === null) return this.#begin();
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<void> {
    const turn = this.#work().finally(() => {
      if (this.#running === turn) this.#running = null;
    });
    this.#running = turn;
    return turn;
  }
}

export type ListKind = 'tools' | 'resources' | 'prompts';

export interface CatalogueOptions {
  timeoutMs(): number;
  /** Only one run uses the server, so what other instances of it list has no effect on it. */
  isAlone: boolean;
  redactor: Redactor;
  onChange(what: ListKind): void;
  onRejected(rejected: RejectedDefinition): void;
}

/** A server may list any number of bad definitions; nobody reads more than this. */
const MAX_REJECTED = 20;

/** The tools, resources and prompts of one server, as last listed or, before that, as pinned. */
export class Catalogue {
  readonly #pins: ServerPins;
  readonly #options: CatalogueOptions;
  readonly #stopListening: () => void;
  readonly #rejected = new Map<ListKind, readonly RejectedDefinition[]>();
  #link: UpstreamLink | null = null;
  #lists: Record<ListKind, CoalescedTask> | null = null;
  #listedTools: Definition[] | null = null;
  /** Names and hashes of `tools`, to notice a change. */
  #signature = '';
  /** The server is gone: its definitions are not shown until it is back. */
  isWithdrawn = false;
  /** The server has answered all its lists at least once since this object exists. */
  wasListed = false;
  /**
   * Whether the tools are known: the server was listed, now or by an earlier hub. A list counts when it was compared with the
   * pins; before that, `tools` is incomplete.
   */
  isKnown = false;
  /** Names of all tools that are listed or pinned, approved or not; null while unknown. The same set until it changes. */
  knownTools: ReadonlySet<string> | null = null;
  /** Tools that may be used, whether or not the server is up, sorted by name. */
  tools: readonly Item[] = [];
  resources: readonly Item[] = [];
  templates: readonly Item[] = [];
  prompts: readonly Item[] = [];

  constructor(pins: ServerPins, options: CatalogueOptions) {
    this.#pins = pins;
    this.#options = options;
    this.#stopListening = pins.onChange(() => this.#updateTools());
    this.#updateTools();
  }

  dispose(): void {
    this.#stopListening();
  }

  /** Every listed tool, also those that wait for approval. */
  get listedTools(): readonly Definition[] {
    return (
      this.#listedTools ??
      (this.#pins.pins ?? []).filter(({ state }) => state !== 'confirmed').map(pin => pin.definition)
    );
  }

  /** Rejected definitions of one kind, or of all; the first few of many. */
  rejected(kind?: ListKind): RejectedDefinition[] {
    const all = kind === undefined ? [...this.#rejected.values()].flat() : (this.#rejected.get(kind) ?? []);
    return all.slice(0, MAX_REJECTED);
  }

  async load(): Promise<void> {
    await this.#pins.load();
    this.#updateTools();
  }

  withdraw(): void {
    if (this.isWithdrawn) return;
    this.isWithdrawn = true;
    this.#notifyAll();
  }

  /** Reads all lists that the server says it has. */
  async list(link: UpstreamLink): Promise<void> {
    this.#link = link;
    this.#lists = {
      tools: new CoalescedTask(() => this.#listTools(link)),
      resources: new CoalescedTask(() => this.#listResources(link)),
      prompts: new CoalescedTask(() => this.#listPrompts(link)),
    };
    await Promise.all(Object.values(this.#lists).map(list => list.run()));
    if (link !== this.#link) return;
    this.wasListed = true;
    if (!this.isWithdrawn) return;
    this.isWithdrawn = false;
    this.#notifyAll();
  }

  /** The server says that a list has changed; it may say so while the first list is being read. */
  relist(what: ListKind): void {
    // Upstream notices a fault of the link; the old list stays until then.
    void this.#lists?.[what].run().catch(() => {});
  }

  async #listTools(link: UpstreamLink): Promise<void> {
    const { found, rejected } = await this.#read(link, 'tools');
    if (link !== this.#link) return;
    this.#reject('tools', rejected);
    this.#listedTools = found ?? [];
    // A server that cannot list its tools yet, or has none yet, was not seen: its first tools are not late ones.
    if (this.#listedTools.length > 0 || (found !== null && this.#pins.pins !== null))
      await this.#pins.see(this.#listedTools);
    this.isKnown = true;
    this.#updateTools();
  }

  async #listPrompts(link: UpstreamLink): Promise<void> {
    const { found, rejected } = await this.#read(link, 'prompts');
    if (link !== this.#link) return;
    this.#reject('prompts', rejected);
    const prompts = itemsOf('prompts', this.#pins.key.server, found);
    if (isSame(prompts, this.prompts)) return;
    this.prompts = prompts;
    this.#options.onChange('prompts');
  }

  async #listResources(link: UpstreamLink): Promise<void> {
    const read = await Promise.all([this.#read(link, 'resources'), this.#read(link, 'templates')]);
    if (link !== this.#link) return;
    this.#reject('resources', [...read[0].rejected, ...read[1].rejected]);
    const resources = itemsOf('resources', this.#pins.key.server, read[0].found);
    const templates = itemsOf('templates', this.#pins.key.server, read[1].found);
    if (isSame(resources, this.resources) && isSame(templates, this.templates)) return;
    this.resources = resources;
    this.templates = templates;
    this.#options.onChange('resources');
  }

  #read(link: UpstreamLink, kind: Parameters<typeof readList>[1]): ReturnType<typeof readList> {
    return readList(link, kind, this.#options.redactor, this.#options.timeoutMs());
  }

  /** Replaces the rejected definitions of this kind and reports new ones. */
  #reject(kind: ListKind, rejected: readonly RejectedDefinition[]): void {
    const before = this.rejected(kind);
    const kept = rejected.slice(0, MAX_REJECTED);
    this.#rejected.set(kind, kept);
    for (const each of kept)
      if (!before.some(({ name, reason }) => name === each.name && reason === each.reason))
        this.#options.onRejected(each);
  }

  /** A tool may be used if its definition was approved and still is the same by its hash. */
  #updateTools(): void {
    this.isKnown ||= this.#pins.pins !== null;
    const pins = this.#pins.pins ?? [];
    const names =
      this.#options.isAlone && this.#listedTools !== null
        ? usableAlone(pins, this.#listedTools)
        : usable(pins, this.#listedTools ?? undefined);
    const kept = pins
      .filter(({ name, state }) => state === 'approved' && names.has(name))
      .sort((a, b) => compare(a.name, b.name));
    const hasNewNames = this.#updateKnownTools(pins);
    const signature = kept.map(({ name, hash }) => `${hash} ${name}`).join('\n');
    if (signature === this.#signature && !hasNewNames) return;
    if (signature !== this.#signature) {
      this.#signature = signature;
      const { server } = this.#pins.key;
      this.tools = kept.map(({ name, definition }) => ({
        own: name,
        exposed: { ...definition, name: exposedName(server, name) },
      }));
    }
    this.#options.onChange('tools');
  }

  #updateKnownTools(pins: readonly Pin[]): boolean {
    const names = [...pins.map(pin => pin.name), ...(this.#listedTools ?? []).map(tool => tool.name)];
    // A server that has listed nothing yet was not seen.
    const known = names.length === 0 && this.#pins.pins === null ? null : new Set(names);
    if (known?.size === this.knownTools?.size && names.every(name => this.knownTools?.has(name)))
      return false;
    this.knownTools = known;
    return true;
  }

  #notifyAll(): void {
    this.#options.onChange('tools');
    if (this.resources.length + this.templates.length > 0) this.#options.onChange('resources');
    if (this.prompts.length > 0) this.#options.onChange('prompts');
  }
}

const isSame = (now: readonly Item[], before: readonly Item[]): boolean =>
  now.length === before.length && JSON.stringify(now) === JSON.stringify(before);
