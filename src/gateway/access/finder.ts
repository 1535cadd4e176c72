import { parseExposedUri, readExposedName } from '../../core/gateway/tool-names.ts';
import { allowed } from '../../core/policy.ts';
import { type Json, UpstreamFault } from '../../wire/upstream/link.ts';
import type { PooledServer } from '../upstream/pooled-server.ts';
import { Unavailable } from '../upstream/unavailable.ts';
import type { CallAudit } from './call-audit.ts';
import type { AskedKind } from './denials.ts';
import { ForwardedError, OutOfOrder } from './forwarded-error.ts';
import type { Offers } from './offers.ts';
import type { RunServer, RunServers } from './run-servers.ts';
import type { Standing } from './standing.ts';
import { madeFrom } from './uri-template.ts';

/** Whom to ask, and for what in its own words. The server is up. */
export interface Callee {
  server: RunServer;
  pooled: PooledServer;
  own: string;
}

export interface FinderOptions {
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
      throw new OutOfOrder(standing.unavailable(id, error instanceof Error ? error.message : String(error)));
    }
  }

  #mayRead(server: RunServer, { catalogue }: PooledServer, uri: string): boolean {
    return (
      this.#isGranted(server, 'resource', uri) ||
      catalogue.templates.some(
        ({ own }) => madeFrom(own, uri) && this.#isGranted(server, 'resource_template', own),
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
