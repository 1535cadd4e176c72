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

/** The one client a server talks to. What cannot be delivered is lost: notices say that there is news, never the news. */
export function audienceOf(server: FaceServer): Audience {
  const isModern = () => server.era === 'modern';
  /** Before the handshake nobody is there to listen; modern clients say in their own stream what they listen to. */
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
      // The SDK keeps the level a client chose under the id of its session.
      tell(!isModern(), () => server.sendLoggingMessage(message, server.transport?.sessionId)),
  };
}

/** Everybody who is there when something is said. */
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

/** The protocol's own limit for one answer. */
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

/** A name in a URI that nobody has is a resource that is not there; the message may still help. */
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
  // The SDK's types know the tasks of 2025 only; what it sends is what it is given.
  if ('task' in result) return taskCreated(result.task, call) as unknown as CallToolResult;
  return readableResult('raw' in result ? result.raw : renderedResult(result), call.client);
}

/** Settles as the work does, unless the signal comes first: then with its reason, and nobody waits for the work. */
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

/** The SDK leaves these two untyped. */
interface Envelope {
  [CLIENT_INFO_META_KEY]?: Implementation;
  [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/** Besides a cancel request of the client. */
interface Ends {
  /** Aborts calls without silencing their answers: the client can still read, it only says nothing more. */
  inputEnded?: AbortSignal;
  /** Aborts calls and answers them at once with its reason, a protocol error. */
  cutOff?: AbortSignal;
}

/** Some clients declare roots and never answer. */
const ROOTS_WAIT = { timeout: 3_000 };

/** The SDK's own schema refuses the whole list for one root that is no file, such as a remote folder of an editor. */
const Roots = z.object({ roots: z.array(z.object({ uri: z.string() })) });

type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>;

/** One SDK server that offers what a face offers, in the era it was asked for in. */
export class FaceServer extends Server {
  readonly face: Face;
  readonly era: Era;
  /** Notifications that a legacy client subscribed to; modern clients ask the serving entry itself. */
  readonly watched = new Set<string>();
  readonly audience: Audience = audienceOf(this);
  readonly #ends: Ends;
  /** A legacy client has said from which level on it wants to hear log messages. */
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

  /** A legacy client has subscribed to something or set a log level, which only this server knows. */
  get hasOwnState(): boolean {
    return this.watched.size > 0 || this.#hasLevel;
  }

  /** Without a context: as the client introduced itself at the start, which modern clients do not. */
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

  /** The same for a connection on which the client can be asked at any time. */
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

  /** Runs one call of the face; what it throws leaves as an error we chose, never as a bare message with a wrong code. */
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
          void ctx.mcpReq.log(level, data, logger).catch(() => {}); // nobody is there to hear it
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

  /** Capabilities of an earlier request do not count: they belong to the request they came with. */
  #acceptsTasks(ctx: ServerContext): boolean {
    if (this.era !== 'modern' || !this.face.tasks) return false;
    const envelope: Envelope = ctx.mcpReq.envelope ?? {};
    return envelope[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[TASKS] !== undefined;
  }

  /** The SDK answers params it cannot read with "internal error"; our own handlers only ever throw protocol errors. */
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
