import type { Thing } from '../../core/gateway/grants.ts';
import {
  matchesWildcard,
  NameTable,
  parseExposedUri,
  readExposedName,
} from '../../core/gateway/tool-names.ts';
import { allowed } from '../../core/policy.ts';
import type { Definition } from '../../core/ports/gateway.ts';
import { type Json, UpstreamFault } from '../../wire/upstream/link.ts';
import type { PooledServer } from '../upstream/pool.ts';
import type { Item } from '../upstream/read-lists.ts';
import { Unavailable } from '../upstream/unavailable.ts';
import type { CallAudit } from './call-audit.ts';
import type { AskedKind } from './denials.ts';
import { ForwardedError, ServerUnavailable } from './forward.ts';
import type { RunServer, RunServers, Standing } from './run-servers.ts';

interface Found {
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

/**
 * Whether a template may have made this URI. `{name}` stands for something within one part of a path; only forms that are made
 * for more, such as `{+path}`, reach over slashes. A path that goes up is made by none.
 */
export function matchesUriTemplate(template: string, uri: string): boolean {
  if (uri.includes('*') || /(^|[/\\]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i.test(uri)) return false;
  const literal = template.replace(/\{[^{}]*\}/g, '');
  if (literal.includes('*') || !matchesWildcard(template.replace(/\{[^{}]*\}/g, '*'), uri)) return false;
  return /\{[+#/][^{}]*\}|\{[^{}]*\*\}/.test(template) || slashes(uri) === slashes(literal);
}

const slashes = (text: string): number => text.split('/').length - 1;

/** Whom to ask, and for what in its own words. The server is up. */
export interface Callee {
  server: RunServer;
  pooled: PooledServer;
  own: string;
}

interface FinderOptions {
  servers: RunServers;
  offers: Offers;
  standing: Standing;
  audit: CallAudit;
}

const KINDS = { tools: 'tool', prompts: 'prompt' } as const;

/**
 * Finds what a run means by a name. Null: it has no such thing. A server that is not up yet is waited for, and only then it is
 * said whether it has the thing: what was pinned may have changed. Rejects with OutOfOrder where that cannot be found out.
 */
export class Finder {
  readonly #options: FinderOptions;

  constructor(options: FinderOptions) {
    this.#options = options;
  }

  async named(kind: 'tools' | 'prompts', name: string, signal: AbortSignal): Promise<Callee | null> {
    const { offers } = this.#options;
    const found = offers.find(kind, name);
    if (found?.server.pooled?.upstream.link) return { ...found, pooled: found.server.pooled };
    const server = found?.server ?? this.#unseen(kind, name);
    if (server === null) return null;
    const pooled = await this.#up(server, KINDS[kind], found?.own ?? readExposedName(name)!.own, signal);
    const again = pooled && offers.find(kind, name);
    return again && again.server.pooled === pooled ? { ...again, pooled } : null;
  }

  async resource(uri: string, signal: AbortSignal): Promise<Callee | null> {
    const asked = parseExposedUri(uri);
    const server = asked && this.#options.servers.of(asked.server);
    if (!server || server.grant.resources.only.some(list => list.size === 0)) return null;
    const pooled = await this.#up(server, 'resource', asked.uri, signal);
    return pooled && this.#mayRead(server, pooled, asked.uri) ? { server, pooled, own: asked.uri } : null;
  }

  /** What a completion is for. */
  async reference(ref: Json, signal: AbortSignal): Promise<Callee | null> {
    if (ref.type === 'ref/prompt' && typeof ref.name === 'string')
      return await this.named('prompts', ref.name, signal);
    if (ref.type !== 'ref/resource' || typeof ref.uri !== 'string') return null;
    const asked = parseExposedUri(ref.uri);
    const server = asked && this.#options.servers.of(asked.server);
    if (!server || !this.#isGranted(server, 'resource_template', asked.uri)) return null;
    const pooled = await this.#up(server, 'completion', asked.uri, signal);
    return pooled?.catalogue.templates.some(({ own }) => own === asked.uri)
      ? { server, pooled, own: asked.uri }
      : null;
  }

  /** A server of which nobody knows yet whether it has this. */
  #unseen(kind: 'tools' | 'prompts', name: string): RunServer | null {
    const guess = readExposedName(name);
    const server = guess && this.#options.servers.of(guess.server);
    if (!server || !this.#isGranted(server, KINDS[kind], guess.own)) return null;
    const { pooled } = server;
    const isKnown = kind === 'tools' ? pooled?.catalogue.isKnown : pooled?.catalogue.wasListed;
    return isKnown ? null : server;
  }

  async #up(
    { id }: RunServer,
    kind: AskedKind,
    own: string,
    signal: AbortSignal,
  ): Promise<PooledServer | null> {
    const { servers, standing, audit } = this.#options;
    await servers.ready();
    const server = servers.of(id);
    if (server === null) return null;
    const { pooled, fault } = server;
    try {
      if (pooled === null) throw new Unavailable(fault ?? 'it cannot be used', 'unusable', null);
      await pooled.upstream.up(signal);
      return pooled;
    } catch (error) {
      const isTakenBack = error instanceof UpstreamFault;
      const outcome = isTakenBack ? 'cancelled' : 'unavailable';
      audit.write({ server: id, kind, name: own, decision: 'allowed', outcome });
      if (isTakenBack) throw new ForwardedError(-32603, 'The request was taken back.');
      throw new ServerUnavailable(
        standing.unavailable(id, error instanceof Error ? error.message : String(error)),
      );
    }
  }

  #mayRead(server: RunServer, { catalogue }: PooledServer, uri: string): boolean {
    return (
      this.#isGranted(server, 'resource', uri) ||
      catalogue.templates.some(
        ({ own }) => matchesUriTemplate(own, uri) && this.#isGranted(server, 'resource_template', own),
      )
    );
  }

  #isGranted(
    { id }: RunServer,
    kind: 'tool' | 'prompt' | 'resource' | 'resource_template',
    name: string,
  ): boolean {
    return allowed(this.#options.servers.holder, 'use', { kind, server: id, name, isApproved: true });
  }
}
