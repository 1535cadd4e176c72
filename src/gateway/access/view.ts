import { parseExposedUri, readExposedName } from '../../core/gateway/tool-names.ts';
import { decision } from '../../core/policy.ts';
import type { Definition, ForwardedRequest, GatewayView } from '../../core/ports/gateway.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { toolError } from '../../schema/tool-error.ts';
import type { Json } from '../../wire/upstream/link.ts';
import type { Denials } from './denials.ts';
import type { Finder } from './finder.ts';
import { type ForwardOptions, forward } from './forward.ts';
import { ForwardedError, OutOfOrder } from './forwarded-error.ts';
import { completion, promptGet, resourceRead, toolCall } from './questions.ts';
import type { RunLists } from './run-lists.ts';
import type { RunServers } from './run-servers.ts';
import type { Standing } from './standing.ts';

const INTERNAL_ERROR = -32603;

export interface RunViewOptions {
  runId: RunId;
  servers: RunServers;
  lists: RunLists;
  standing: Standing;
  denials: Denials;
  finder: Finder;
  forwarding: ForwardOptions;
}

/** What one run has of other servers. */
export class RunView implements GatewayView {
  readonly #options: RunViewOptions;

  constructor(options: RunViewOptions) {
    this.#options = options;
  }

  tools(): Promise<Definition[]> {
    return this.#options.lists.tools();
  }

  resources(): Promise<Definition[]> {
    return this.#options.lists.resources();
  }

  resourceTemplates(): Promise<Definition[]> {
    return this.#options.lists.templates();
  }

  prompts(): Promise<Definition[]> {
    return this.#options.lists.prompts();
  }

  takes(name: string): boolean {
    return readExposedName(name) !== null;
  }

  isPlain(name: string): boolean {
    const server = readExposedName(name)?.server;
    return server !== undefined && this.#options.servers.of(server)?.config.instance !== 'per-agent';
  }

  notice(): string | null {
    return this.#options.standing.notice();
  }

  async call(name: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, servers, forwarding } = this.#options;
    try {
      const found = await finder.named('tools', name, request.signal);
      if (found === null) return denials.deny('tool', name, readExposedName(name));
      const { server, own } = found;
      const args = params.arguments;
      const thing = { kind: 'tool' as const, server: server.id, name: own, isApproved: true, args };
      const may = decision(servers.holder, 'use', thing);
      if (!may.allowed) {
        const refusal = denials.denyCall(name, { server: server.id, own }, may);
        return refusal === null ? null : this.#failed(name, new SquadError('NOT_ALLOWED', refusal));
      }
      return await forward(forwarding, toolCall(found, params), request);
    } catch (error) {
      if (error instanceof OutOfOrder)
        return this.#failed(name, new SquadError('SERVER_UNAVAILABLE', error.message));
      throw error;
    }
  }

  /** As text alone: structured content would have to fit the schema of the server's tool. */
  #failed(tool: string, error: SquadError): Json {
    const text = JSON.stringify(toolError(error.toShape(), tool, this.#options.runId));
    return { content: [{ type: 'text', text }], isError: true };
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
      if (found === null) return denials.deny('prompt', name, readExposedName(name));
      return await forward(forwarding, promptGet(found, params), request);
    });
  }

  complete(params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, forwarding } = this.#options;
    const ref = (params.ref ?? {}) as Json;
    const asked = String(ref.name ?? ref.uri ?? '');
    return asError(async () => {
      const found = await finder.reference(ref, request.signal);
      if (found === null) return denials.deny('completion', asked, readExposedName(asked) ?? ownOf(asked));
      if (!found.pooled.upstream.link?.capabilities.completions) return { completion: { values: [] } };
      return await forward(forwarding, completion(found, params, ref), request);
    });
  }
}

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
