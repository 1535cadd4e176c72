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
 * Reads every page of a list. Gives up on a server that sends pages without end. Null if the server answered a page
 * with an error. The pages before it are then discarded, because a partial list says nothing about the rest.
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

/** A tool, prompt, resource or template: the server's own name or URI for it, and the definition that agents see. */
export interface Item {
  own: string;
  exposed: Definition;
}

/** A definition that agents do not get, and the reason as a clause. */
export interface RejectedDefinition {
  name: string;
  reason: string;
}

interface Listed {
  /** Definitions that were found. Null if the server cannot list this kind now. */
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

/** Reads one list, if the server declares it. Removes secrets first, because definitions are stored and shown. */
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

/** The definitions under their exposed names, sorted. */
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

/** The name of a rejected definition for display, as far as it can be shown. */
function displayName(raw: unknown, redactor: Redactor): string {
  const name = typeof raw === 'object' && raw !== null && 'name' in raw ? raw.name : null;
  const shown = typeof name === 'string' ? redactor.text(withoutHidden(name)).trim() : '';
  return shown === '' ? '(no name)' : shown.slice(0, MAX_NAME_LENGTH).toWellFormed();
}

/** Sorted by code units, so that the order is the same on every machine. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Work that many callers request. One execution is in progress and at most one more waits, however many callers request
 * it.
 */
class CoalescedTask {
  readonly #work: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Resolves after a complete execution that began after this call. */
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
  /** True for a server that only one run uses. Lists of its other instances have no effect on this run. */
  isAlone: boolean;
  redactor: Redactor;
  onChange(what: ListKind): void;
  onRejected(rejected: RejectedDefinition): void;
}

/** Maximum number of rejected definitions that are kept; a server may list any number. */
const MAX_REJECTED = 20;

/** The tools, resources and prompts of one server, as last listed or, before the first list, as pinned. */
export class Catalogue {
  readonly #pins: ServerPins;
  readonly #options: CatalogueOptions;
  readonly #stopListening: () => void;
  readonly #rejected = new Map<ListKind, readonly RejectedDefinition[]>();
  #link: UpstreamLink | null = null;
  #lists: Record<ListKind, CoalescedTask> | null = null;
  #listedTools: Definition[] | null = null;
  /** Names and hashes of `tools`, for comparison with the next list. */
  #signature = '';
  /** True while the server is down. Its definitions are then hidden. */
  isWithdrawn = false;
  /** True once the server has answered all its lists in the lifetime of this object. */
  wasListed = false;
  /**
   * Whether the tools are known, because this or an earlier hub listed the server. A new list counts only after its
   * comparison with the pins.
   */
  isKnown = false;
  /**
   * Names of all listed or pinned tools, approved or not. Null while unknown. The same Set object until the names
   * change.
   */
  knownTools: ReadonlySet<string> | null = null;
  /** Usable tools, sorted by name, whether or not the server is up. */
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

  /** Every listed tool, including those that wait for approval. */
  get listedTools(): readonly Definition[] {
    return (
      this.#listedTools ??
      (this.#pins.pins ?? []).filter(({ state }) => state !== 'confirmed').map(pin => pin.definition)
    );
  }

  /** Rejected definitions of one kind, or of all kinds. Only the first few. */
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

  /** Reads all lists that the server declares. */
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

  /** Called when the server reports that a list has changed; that can happen while the first list is being read. */
  relist(what: ListKind): void {
    // Errors are ignored here, because the Upstream handles a fault of the link. The old list stays until then.
    void this.#lists?.[what].run().catch(() => {});
  }

  async #listTools(link: UpstreamLink): Promise<void> {
    const { found, rejected } = await this.#read(link, 'tools');
    if (link !== this.#link) return;
    this.#reject('tools', rejected);
    this.#listedTools = found ?? [];
    // A server that cannot list its tools yet, or has none yet, does not count as listed, so its first tools need no
    // approval.
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

  /** A tool is usable if its definition was approved and still has the same hash. */
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
    // A server that has listed no tools does not count as listed.
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
