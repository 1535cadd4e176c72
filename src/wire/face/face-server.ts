import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type JSONRPCRequest,
  type Result,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Audience, Call, Era, Face, Peer } from './face.ts';
import { audienceOf } from './face-audience.ts';
import { capabilitiesOf } from './face-capabilities.ts';
import { serveCompletion, servePrompts } from './face-prompts.ts';
import { serveResources } from './face-resources.ts';
import { serveTasks, TASKS } from './face-tasks.ts';
import { serveTools } from './face-tools.ts';
import { progressReporter } from './progress.ts';
import { asProtocolError, invalidParams, toolCallError } from './protocol-errors.ts';
import { unlessCutOff } from './unless-cut-off.ts';

/** The SDK leaves these two untyped. */
interface Envelope {
  [CLIENT_INFO_META_KEY]?: Implementation;
  [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/** Besides the client's own wish to cancel. */
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
  /** What a legacy client asked to hear about; modern clients ask the serving entry itself. */
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

  /** What an earlier request said counts for nothing: capabilities belong to the request they came with. */
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
        const result = await unlessCutOff(wrapped(request, ctx), this.#ends.cutOff);
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
