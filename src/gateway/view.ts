import { type Decision, decide } from '../core/gateway/decide.ts';
import { parseExposedUri } from '../core/gateway/tool-names.ts';
import type { Definition, ForwardedRequest, GatewayView } from '../core/ports/gateway.ts';
import type { Json } from '../wire/upstream/link.ts';
import { type Denials, guessed } from './denials.ts';
import type { Callee, Finder } from './finder.ts';
import { type ForwardOptions, forward } from './forward.ts';
import { ForwardedError, OutOfOrder } from './forwarded-error.ts';
import type { Offers } from './offers.ts';
import { atMost } from './patience.ts';
import { completion, promptGet, resourceRead, toolCall } from './questions.ts';
import type { RunServer, RunServers } from './run-servers.ts';
import type { Standing } from './standing.ts';
import type { Timers } from './timers.ts';

/** How long a list waits for servers nobody has seen yet. */
const LIST_PATIENCE_MS = 5_000;
const INTERNAL_ERROR = -32603;

export interface RunViewOptions {
  servers: RunServers;
  offers: Offers;
  standing: Standing;
  denials: Denials;
  finder: Finder;
  forwarding: ForwardOptions;
  timers: Timers;
}

/** What one run has of other servers. */
export class RunView implements GatewayView {
  readonly #options: RunViewOptions;

  constructor(options: RunViewOptions) {
    this.#options = options;
  }

  async tools(): Promise<Definition[]> {
    await this.#settled(({ pooled }) => pooled?.catalogue.isKnown === false);
    return this.#options.offers.shown('tools');
  }

  async resources(): Promise<Definition[]> {
    await this.#settled(isUnlisted('resources'));
    return this.#options.offers.shown('resources');
  }

  async resourceTemplates(): Promise<Definition[]> {
    await this.#settled(isUnlisted('resources'));
    return this.#options.offers.shown('templates');
  }

  async prompts(): Promise<Definition[]> {
    await this.#settled(isUnlisted('prompts'));
    return this.#options.offers.shown('prompts');
  }

  takes(name: string): boolean {
    return guessed(name) !== null;
  }

  isPlain(name: string): boolean {
    const server = guessed(name)?.server;
    return server !== undefined && this.#options.servers.of(server)?.config.instance !== 'per-agent';
  }

  notice(): string | null {
    return this.#options.standing.notice();
  }

  async call(name: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, servers, forwarding } = this.#options;
    try {
      const found = await finder.named('tools', name, request.signal);
      if (found === null) return denials.deny('tool', name, guessed(name));
      const { server, own } = found;
      const args = params.arguments;
      const thing = { kind: 'tool' as const, server: server.id, name: own, isApproved: true, args };
      const decision = decide([server.grant], thing, { workspaceRoot: servers.roots.WORKSPACE_ROOT });
      if (!decision.allowed) return this.#refused(found, name, decision);
      return await forward(forwarding, toolCall(found, params), request);
    } catch (error) {
      if (error instanceof OutOfOrder) return failedResult(error.message);
      throw error;
    }
  }

  readResource(uri: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, forwarding } = this.#options;
    return asError(async () => {
      const found = await finder.resource(uri, request.signal);
      if (found === null) return denials.deny('resource', uri, ownOf(uri));
      return await forward(forwarding, resourceRead(found, params), request);
    });
  }

  getPrompt(name: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, forwarding } = this.#options;
    return asError(async () => {
      const found = await finder.named('prompts', name, request.signal);
      if (found === null) return denials.deny('prompt', name, guessed(name));
      return await forward(forwarding, promptGet(found, params), request);
    });
  }

  complete(params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, forwarding } = this.#options;
    const ref = (params.ref ?? {}) as Json;
    const asked = String(ref.name ?? ref.uri ?? '');
    return asError(async () => {
      const found = await finder.reference(ref, request.signal);
      if (found === null) return denials.deny('completion', asked, guessed(asked) ?? ownOf(asked));
      if (!found.pooled.upstream.link?.capabilities.completions) return { completion: { values: [] } };
      return await forward(forwarding, completion(found, params, ref), request);
    });
  }

  /** The tool is there for all to see, so its rules need not be hidden; the value that broke one is not repeated. */
  #refused(
    { server, own }: Callee,
    name: string,
    decision: Extract<Decision, { allowed: false }>,
  ): Json | null {
    const { denials, forwarding } = this.#options;
    if (decision.reason !== 'argument') return denials.deny('tool', name, { server: server.id, own });
    const { argument, rule } = decision;
    forwarding.audit.write({
      server: server.id,
      kind: 'tool',
      name: own,
      decision: 'denied',
      outcome: 'argument_rule',
    });
    denials.tell(name);
    return failedResult(
      `The call was refused: the argument "${argument}" breaks the rule "${rule}" that is set for ${name}. The server was not asked.`,
    );
  }

  /** A list waits a moment for what nobody can know yet; what comes later is told with a change notice. */
  async #settled(isUnknown: (server: RunServer) => boolean): Promise<void> {
    const { servers, timers } = this.#options;
    if (servers.isReady && !servers.list.some(isUnknown)) return;
    const all = servers.ready().then(async () => {
      await Promise.all(servers.list.map(({ pooled }) => pooled?.catalogue.load().catch(() => {})));
      await Promise.all(servers.list.filter(isUnknown).map(({ pooled }) => pooled?.upstream.start()));
    });
    await atMost(timers, LIST_PATIENCE_MS, all);
  }
}

const isUnlisted =
  (kind: 'resources' | 'prompts') =>
  ({ grant, pooled }: RunServer): boolean =>
    pooled?.catalogue.wasListed === false && !grant[kind].only.some(list => list.size === 0);

const failedResult = (text: string): Json => ({ content: [{ type: 'text', text }], isError: true });

function ownOf(uri: string): { server: string; own: string } | null {
  const asked = parseExposedUri(uri);
  return asked && { server: asked.server, own: asked.uri };
}

/** Only a tool's result can say in itself that something went wrong. */
async function asError(ask: () => Promise<Json | null>): Promise<Json | null> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof OutOfOrder ? new ForwardedError(INTERNAL_ERROR, error.message) : error;
  }
}
