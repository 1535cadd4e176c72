import type { Thing } from '../../core/gateway/decide.ts';
import { NameTable } from '../../core/gateway/tool-names.ts';
import { allowed } from '../../core/policy.ts';
import type { Definition } from '../../core/ports/gateway.ts';
import type { Item } from '../upstream/read-lists.ts';
import type { RunServer, RunServers } from './run-servers.ts';

export interface Found {
  server: RunServer;
  /** In the server's own words. */
  own: string;
}

type Kind = 'tools' | 'resources' | 'templates' | 'prompts';

const THINGS: Record<Kind, Thing['kind']> = {
  tools: 'tool',
  resources: 'resource',
  templates: 'resource_template',
  prompts: 'prompt',
};

interface Offer {
  /** What a list shows: without what is not there now. The same array for as long as the same things are in it. */
  shown: Definition[];
  /** By exposed name, also what is not there now: its caller is told why. */
  byName: ReadonlyMap<string, Found>;
}

/** What one run is offered of its servers, worked out when it is asked for and kept until something changes. */
export class Offers {
  readonly #servers: RunServers;
  readonly #onClash: (name: string) => void;
  readonly #fresh = new Map<Kind, Offer>();
  readonly #last = new Map<Kind, Definition[]>();

  constructor(servers: RunServers, onClash: (name: string) => void) {
    this.#servers = servers;
    this.#onClash = onClash;
  }

  invalidate(): void {
    this.#fresh.clear();
  }

  shown(kind: Kind): Definition[] {
    return this.#offer(kind).shown;
  }

  /** Of each tool that is shown, whose it is. */
  shownTools(): { id: string; name: string }[] {
    const { shown, byName } = this.#offer('tools');
    return shown.map(({ name }) => ({ id: byName.get(name)!.server.id, name }));
  }

  find(kind: 'tools' | 'prompts', name: string): Found | null {
    return this.#offer(kind).byName.get(name) ?? null;
  }

  #offer(kind: Kind): Offer {
    const fresh = this.#fresh.get(kind);
    if (fresh !== undefined) return fresh;
    const offer = this.#workOut(kind);
    this.#fresh.set(kind, offer);
    return offer;
  }

  #workOut(kind: Kind): Offer {
    const granted = this.#servers.list.flatMap(server =>
      (server.pooled?.catalogue[kind] ?? [])
        .filter(item => this.#isGranted(kind, server, item))
        .map(item => ({ server, item })),
    );
    const names = isNamed(kind)
      ? new NameTable(granted.map(({ server, item }) => [server.id, item.own]))
      : null;
    for (const { name } of names?.clashes ?? []) this.#onClash(name);
    const shown: Definition[] = [];
    const byName = new Map<string, Found>();
    for (const { server, item } of granted) {
      if (names !== null && names.nameOf(server.id, item.own) === null) continue;
      byName.set(item.exposed.name, { server, own: item.own });
      if (server.pooled?.catalogue.isWithdrawn === false) shown.push(item.exposed);
    }
    return { shown: this.#sameOr(kind, shown), byName };
  }

  #isGranted(kind: Kind, { id }: RunServer, { own }: Item): boolean {
    const thing = { kind: THINGS[kind], server: id, name: own, isApproved: true };
    return allowed(this.#servers.holder, 'use', thing);
  }

  #sameOr(kind: Kind, shown: Definition[]): Definition[] {
    const last = this.#last.get(kind);
    if (last !== undefined && last.length === shown.length && last.every((one, at) => one === shown[at]))
      return last;
    this.#last.set(kind, shown);
    return shown;
  }
}

const isNamed = (kind: Kind): boolean => kind === 'tools' || kind === 'prompts';
