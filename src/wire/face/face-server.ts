import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type InputRequiredResult,
  type JSONRPCRequest,
  ResourceNotFoundError,
  type Result,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import type { Audience, Call, Era, Face, Peer, ToolResult } from './face.ts';
import { LEGACY_TASKS, serveTasks, TASKS, taskCreated } from './face-tasks.ts';
import { progressReporter } from './progress.ts';
import {
  asProtocolError,
  invalidParams,
  refuseCursor,
  toolCallError,
  unknownTool,
} from './protocol-errors.ts';
import { readableResult, renderedResult, toolsOfEra } from './tool-result.ts';

/**
 * The only client of a server. Notifications that cannot be delivered are dropped: they only say that something
 * changed.
 */
export function audienceOf(server: FaceServer): Audience {
  const isModern = () => server.era === 'modern';
  /**
   * A legacy client gets notifications only after the handshake. A modern client subscribes to them with a separate
   * stream.
   */
  const tell = (wanted: boolean | undefined, notice: () => Promise<void>) => {
    if (wanted && (isModern() || server.getClientVersion())) notice().catch(() => {});
  };
  return {
    notices: {
      toolsChanged: () => tell(server.face.tools.mayChange, () => server.sendToolListChanged()),
      promptsChanged: () => tell(server.face.prompts?.mayChange, () => server.sendPromptListChanged()),
      resourcesChanged: () => tell(server.face.resources?.mayChange, () => server.sendResourceListChanged()),
      resourceUpdated: uri =>
        tell(server.face.resources?.watchable && (isModern() || server.watched.has(uri)), () =>
          server.sendResourceUpdated({ uri }),
        ),
    },
    log: message =>
      // The SDK stores a client's log level by session id.
      tell(!isModern(), () => server.sendLoggingMessage(message, server.transport?.sessionId)),
  };
}

/** Notifies every audience that is connected at that moment. */
export function everyone(present: () => Iterable<Audience>): Audience {
  const all = (tell: (audience: Audience) => void) => {
    for (const audience of present()) tell(audience);
  };
  return {
    notices: {
      toolsChanged: () => all(({ notices }) => notices.toolsChanged()),
      promptsChanged: () => all(({ notices }) => notices.promptsChanged()),
      resourcesChanged: () => all(({ notices }) => notices.resourcesChanged()),
      resourceUpdated: uri => all(({ notices }) => notices.resourceUpdated(uri)),
    },
    log: message => all(audience => audience.log(message)),
  };
}

/** Capabilities of a face, as sent to the client in the handshake. */
function capabilitiesOf(face: Face, era: Era): ServerCapabilities {
  const { tools, resources, prompts } = face;
  return {
    tools: tools.mayChange ? { listChanged: true } : {},
    ...(resources && {
      resources: {
        ...(resources.mayChange && { listChanged: true }),
        ...(resources.watchable && { subscribe: true }),
      },
    }),
    ...(prompts && { prompts: prompts.mayChange ? { listChanged: true } : {} }),
    ...(face.complete && { completions: {} }),
    ...(face.logging && { logging: {} }),
    ...(face.tasks && (era === 'modern' ? { extensions: { [TASKS]: {} } } : { tasks: LEGACY_TASKS })),
  };
}

function servePrompts(server: FaceServer, prompts: NonNullable<Face['prompts']>): void {
  server.setRequestHandler('prompts/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return { prompts: await server.ask(ctx, peer => prompts.list(peer)) };
  });

  server.setRequestHandler('prompts/get', async ({ params }, ctx) => {
    const result = await server.call(ctx, call => prompts.get(params.name, params.arguments ?? {}, call));
    if (result === null) throw invalidParams(`Unknown prompt: ${params.name}`);
    return result;
  });
}

function serveCompletion(server: FaceServer, complete: NonNullable<Face['complete']>): void {
  server.setRequestHandler('completion/complete', async ({ params }, ctx) => {
    const { values, total } = await server.ask(ctx, peer => complete(params, peer));
    const shown = values.slice(0, MAX_VALUES);
    return {
      completion: { values: shown, total: total ?? values.length, hasMore: shown.length < values.length },
    };
  });
}

/** Maximum number of completions in one answer, set by the protocol. */
const MAX_VALUES = 100;

function serveResources(server: FaceServer, resources: NonNullable<Face['resources']>): void {
  server.setRequestHandler('resources/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return { resources: await server.ask(ctx, peer => resources.list(peer)) };
  });

  server.setRequestHandler('resources/templates/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return {
      resourceTemplates: await server.ask(ctx, async peer => (await resources.templates?.(peer)) ?? []),
    };
  });

  server.setRequestHandler('resources/read', async ({ params }, ctx) => {
    const result = await server.call(ctx, call =>
      resources.read(params.uri, call).catch(asNotFound(params.uri)),
    );
    if (result === null) throw new ResourceNotFoundError(params.uri);
    return result;
  });

  if (!resources.watchable || server.era === 'modern') return;
  server.setRequestHandler('resources/subscribe', async ({ params }) => {
    server.watched.add(params.uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params }) => {
    server.watched.delete(params.uri);
    return {};
  });
}

/** Turns the error for an unknown agent into one for an unknown resource, with the same message and suggestions. */
const asNotFound = (uri: string) => (thrown: unknown) => {
  if (!(thrown instanceof SquadError) || thrown.code !== 'AGENT_UNKNOWN') throw thrown;
  throw new ResourceNotFoundError(
    uri,
    [`Resource not found: ${uri}`, thrown.message, ...thrown.suggestions].join('. '),
  );
};

function serveTools(server: FaceServer): void {
  const { tools } = server.face;

  server.setRequestHandler('tools/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return { tools: toolsOfEra(await server.ask(ctx, peer => tools.list(peer)), server.era) };
  });

  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const asTask = server.era === 'legacy' && server.face.tasks !== undefined && params.task !== undefined;
    return server.call(ctx, async plain => {
      const call = asTask ? { ...plain, asTask, acceptsTasks: true } : plain;
      const result = await tools.call(params.name, params.arguments ?? {}, call);
      if (result === null) throw unknownTool(params.name);
      return rendered(result, call);
    });
  });
}

function rendered(result: ToolResult, call: Call): CallToolResult | InputRequiredResult {
  // The SDK has types only for the tasks of revision 2025-11-25, but it sends any result unchanged.
  if ('task' in result) return taskCreated(result.task, call) as unknown as CallToolResult;
  return readableResult('raw' in result ? result.raw : renderedResult(result), call.client);
}

/** Rejects with the signal's reason if the signal aborts before the work has settled. The work is not stopped. */
async function abortable<T>(work: Promise<T>, cutOff: AbortSignal | undefined): Promise<T> {
  if (!cutOff) return work;
  let stop = () => {};
  const cut = new Promise<never>((_resolve, reject) => {
    stop = () => reject(cutOff.reason);
    cutOff.addEventListener('abort', stop, { once: true });
    if (cutOff.aborted) stop();
  });
  try {
    return await Promise.race([work, cut]);
  } finally {
    cutOff.removeEventListener('abort', stop);
  }
}

/** The SDK has no types for these two methods. */
interface Envelope {
  [CLIENT_INFO_META_KEY]?: Implementation;
  [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/** Signals that end calls, besides a cancel request of the client. */
interface Ends {
  /** Aborts calls but sends their answers: the client has closed its input and can still read. */
  inputEnded?: AbortSignal;
  /** Aborts calls and answers them at once with the signal's reason, a protocol error. */
  cutOff?: AbortSignal;
}

/** Timeout for roots: some clients declare them but never answer. */
const ROOTS_WAIT = { timeout: 3_000 };

/** The SDK's schema refuses the whole list if one root is not a file URI, such as a remote folder of an editor. */
const Roots = z.object({ roots: z.array(z.object({ uri: z.string() })) });

type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>;

/** An SDK server for one face, in one era of the protocol. */
export class FaceServer extends Server {
  readonly face: Face;
  readonly era: Era;
  /** Resources that a legacy client subscribed to. The SDK handles the subscriptions of modern clients. */
  readonly watched = new Set<string>();
  readonly audience: Audience = audienceOf(this);
  readonly #ends: Ends;
  /** True once a legacy client has set a log level. */
  #hasLevel = false;

  constructor(face: Face, era: Era, ends: Ends = {}) {
    super(face.info, {
      capabilities: capabilitiesOf(face, era),
      ...(face.instructions && { instructions: face.instructions }),
      ...(face.requestState && { requestState: face.requestState }),
    });
    this.face = face;
    this.era = era;
    this.#ends = ends;
    serveTools(this);
    if (face.resources) serveResources(this, face.resources);
    if (face.prompts) servePrompts(this, face.prompts);
    if (face.complete) serveCompletion(this, face.complete);
    if (face.tasks) serveTasks(this, face.tasks);
    if (face.rootsChanged)
      this.setNotificationHandler('notifications/roots/list_changed', () => face.rootsChanged?.());
  }

  /**
   * True if a legacy client has subscribed to a resource or set a log level: state that exists only in this server
   * object.
   */
  get hasOwnState(): boolean {
    return this.watched.size > 0 || this.#hasLevel;
  }

  /** The client of a request. Without a request, the client is known only from the handshake of a legacy client. */
  peer(ctx?: ServerContext): Peer {
    const envelope: Envelope = ctx?.mcpReq.envelope ?? {};
    const info = envelope[CLIENT_INFO_META_KEY] ?? this.getClientVersion();
    const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] ?? this.getClientCapabilities() ?? {};
    return {
      era: this.era,
      client: info ? { name: info.name, version: info.version } : null,
      capabilities,
      ...(ctx &&
        this.#asksRoots(capabilities, () => ctx.mcpReq.send({ method: 'roots/list' }, Roots, ROOTS_WAIT))),
    };
  }

  /** The client of a connection on which the server can send requests of its own at any time. */
  streamPeer(): Peer {
    const peer = this.peer();
    return {
      ...peer,
      ...this.#asksRoots(peer.capabilities, () => this.request({ method: 'roots/list' }, Roots, ROOTS_WAIT)),
    };
  }

  #asksRoots({ roots }: ClientCapabilities, ask: () => Promise<z.infer<typeof Roots>>): Pick<Peer, 'roots'> {
    if (!roots || this.era === 'modern') return {};
    return { roots: async () => (await ask()).roots.map(({ uri }) => uri) };
  }

  /** Runs one call of the face. Anything thrown becomes a protocol error with the right code. */
  async call<T>(ctx: ServerContext, run: (call: Call) => Promise<T>): Promise<T> {
    const { inputEnded, cutOff } = this.#ends;
    const signal = AbortSignal.any(
      [ctx.mcpReq.signal, inputEnded, cutOff].filter(each => each !== undefined),
    );
    const token = ctx.mcpReq._meta?.progressToken;
    const reporter = progressReporter(token, ctx.mcpReq.notify, signal);
    try {
      return await run({
        ...this.peer(ctx),
        signal,
        wantsProgress: token !== undefined,
        acceptsTasks: this.#acceptsTasks(ctx),
        asTask: false,
        progress: reporter.report,
        log: ({ level, data, logger }) => {
          if (level === 'debug' && this.era === 'legacy' && !this.#hasLevel) return;
          void ctx.mcpReq.log(level, data, logger).catch(() => {}); // the client has disconnected
        },
        audience: this.audience,
        raw: ctx,
      });
    } catch (thrown) {
      throw asProtocolError(thrown);
    } finally {
      await reporter.finish();
    }
  }

  async ask<T>(ctx: ServerContext, run: (peer: Peer) => Promise<T>): Promise<T> {
    try {
      return await run(this.peer(ctx));
    } catch (thrown) {
      throw asProtocolError(thrown);
    }
  }

  /** Declared capabilities count only for the request that they were sent with. */
  #acceptsTasks(ctx: ServerContext): boolean {
    if (this.era !== 'modern' || !this.face.tasks) return false;
    const envelope: Envelope = ctx.mcpReq.envelope ?? {};
    return envelope[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[TASKS] !== undefined;
  }

  /** The SDK reports invalid params as "internal error". Our own handlers throw only protocol errors. */
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, ctx) => {
      try {
        const result = await abortable(wrapped(request, ctx), this.#ends.cutOff);
        if (method === 'logging/setLevel') this.#hasLevel = true;
        return result;
      } catch (thrown) {
        const error =
          !(thrown instanceof Error) || 'code' in thrown
            ? thrown
            : invalidParams(`Invalid params for ${method}: ${thrown.message}`);
        const name = method === 'tools/call' ? request.params?.name : undefined;
        throw typeof name === 'string' ? toolCallError(error, name) : error;
      }
    };
  }
}
