import type { IncomingMessage, ServerResponse } from 'node:http';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { within } from '../../base/clock.ts';
import type { Audience, Era, Face, Peer } from '../face/face.ts';
import { everyone, FaceServer } from '../face/face-server.ts';
import { type Access, Accesses } from './access.ts';
import { directAnswer, headersAgree, isDirect, type PlainRequest, plainRequest } from './direct-answer.ts';
import { awaitsAnswer, type Refused, readBody, refuse } from './http-body.ts';
import { HttpAnswer, HttpCall } from './http-call.ts';
import { LegacySessions } from './legacy-sessions.ts';

/** A request with its body already read. */
export interface Asked {
  req: IncomingMessage;
  res: ServerResponse;
  access: Access;
  body: unknown;
  /** Builds the face for a modern client. */
  modernFace(): Face;
}

export interface DirectHttpOptions {
  legacy: LegacySessions;
  openStreamMs: number;
  /** Marks the request as being answered. */
  track(res: ServerResponse): void;
}

/** A face that was built for one request, and a function that releases it. */
interface Answerer {
  face: Face;
  peer: Peer;
  sessionId: string | null;
  leave(): void;
}

/** Plain requests over HTTP, answered without the SDK. */
export class DirectHttp {
  readonly #options: DirectHttpOptions;

  constructor(options: DirectHttpOptions) {
    this.#options = options;
  }

  /** Serves a request. Returns false if the request is left to the SDK and nothing was done. */
  serve({ req, res, access, body, modernFace }: Asked): boolean {
    const request = plainRequest(body);
    const accepts = acceptedBy(req);
    if (!request || !headersAgree(req.headers, request)) return false;
    // Some legacy clients send a wrong Accept header; the SDK sends them the error.
    if (request.era === 'legacy' && !accepts.json && !accepts.stream) return false;
    const answerer = request.peer
      ? modern(modernFace, request.peer)
      : this.#inSession(req.headers['mcp-session-id'], access);
    if (!answerer) return false;
    if (!isDirect(request, answerer.face)) {
      answerer.leave();
      return false;
    }
    this.#run(request, answerer, { res, access, accepts });
    return true;
  }

  #run(
    request: PlainRequest,
    { face, peer, sessionId, leave }: Answerer,
    { res, access, accepts }: { res: ServerResponse; access: Access; accepts: Accepts },
  ): void {
    this.#options.track(res);
    const answer = new HttpAnswer(res, {
      json: accepts.json || !accepts.stream,
      stream: accepts.stream,
      openStreamMs: this.#options.openStreamMs,
      headers: sessionId === null ? {} : { 'mcp-session-id': sessionId },
    });
    const onOver = () => {
      access.calls.delete(call);
      leave();
    };
    const call = new HttpCall({ request, sessionId, answer, onOver }, res);
    access.calls.add(call);
    void call.run(direct => directAnswer(request, face, peer, direct));
  }

  #inSession(sessionId: string | string[] | undefined, access: Access): Answerer | null {
    if (typeof sessionId !== 'string') return null;
    const entered = this.#options.legacy.enter(sessionId, access);
    return (
      entered && { face: entered.server.face, peer: entered.server.peer(), sessionId, leave: entered.leave }
    );
  }
}

/** If the face cannot be built, the SDK answers the request with the error. */
function modern(build: () => Face, peer: Peer): Answerer | null {
  try {
    return { face: build(), peer, sessionId: null, leave: () => {} };
  } catch {
    return null;
  }
}

interface Accepts {
  json: boolean;
  stream: boolean;
}

function acceptedBy({ headers: { accept = '' } }: IncomingMessage): Accepts {
  return { json: accept.includes('application/json'), stream: accept.includes('text/event-stream') };
}

const KEEP_ALIVE_MS = 15_000;
const utf8 = new TextEncoder();

/**
 * Streams the answer early if it takes long: some clients give up on a call without a first byte, even if they would
 * get progress.
 */
export async function openStreamEarly(answer: Promise<Response>, afterMs: number): Promise<Response> {
  const quick = await within(answer, afterMs);
  if (quick) return quick;
  return new Response(ReadableStream.from(frames(answer)), {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
  });
}

async function* frames(answer: Promise<Response>): AsyncGenerator<Uint8Array> {
  let response: Response | null = null;
  do {
    yield utf8.encode(': working\n\n');
    response = await within(answer, KEEP_ALIVE_MS);
  } while (response === null);
  if (!response.body) return;
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) yield* response.body;
  else yield utf8.encode(`event: message\ndata: ${JSON.stringify(await response.json())}\n\n`);
}

export interface HttpOptions {
  /** Builds the face for this request. For a legacy client it is called once, when the session opens. */
  build(request: IncomingMessage, info: { era: Era }): Face;
  /** Owner of the request. A legacy session serves only its owner, and `endSessions` ends everything of one owner. */
  owner?(request: IncomingMessage): string;
  maxBodyBytes?: number;
  /** Maximum number of legacy sessions per owner; beyond it an idle session of the same owner is closed. */
  maxSessions?(owner: string): number;
  sessionIdleMs?: number;
  /**
   * Idle timeout of sessions without subscriptions or a log level, which lose nothing when they are opened
   * again.
   */
  bareSessionIdleMs?: number;
  /**
   * Time without an answer after which the stream of a call is opened, so that the client sees that the call is being
   * handled.
   */
  openStreamMs?: number;
  onInFlight?(count: number): void;
  onError?(error: Error): void;
}

/** Its notifications go to all clients. A legacy client gets them only while its listening stream is open. */
export interface HttpHandler extends Audience {
  /** Serves one path of a node:http server. The server has to check token, Host and Origin before. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Number of unanswered requests; streams that only listen do not count. */
  inFlight(): number;
  sessions(): number;
  /** Notifies the clients of this owner only. */
  of(owner: string): Audience;
  /** Ends the owner's sessions, calls and listening streams. Revoke its token first, or it can come back. */
  endSessions(owner: string): Promise<void>;
  close(): Promise<void>;
}

const DEFAULTS = {
  maxBodyBytes: 32 * 1024 * 1024,
  maxSessions: 16,
  sessionIdleMs: 30 * 60_000,
  bareSessionIdleMs: 45_000,
  openStreamMs: 10_000,
};

const ENDED = 'This access has ended';
const STOPPING = 'The server is stopping';
const METHODS = ['GET', 'POST', 'DELETE'];
const WRONG_METHOD: Refused = {
  status: 405,
  code: -32000,
  message: 'Method not allowed.',
  headers: { allow: METHODS.join(', ') },
};

/** Streamable HTTP in both eras: a modern request stands alone, a legacy request belongs to a session. */
export function createHttpHandler(options: HttpOptions): HttpHandler {
  const maxRequestBodySize = options.maxBodyBytes ?? DEFAULTS.maxBodyBytes;
  const onError = (error: Error) => options.onError?.(error);
  const openStreamMs = options.openStreamMs ?? DEFAULTS.openStreamMs;
  const faces = new WeakMap<Request, () => Face>();
  const unanswered = new Set<ServerResponse>();
  let closed = false;
  const idleMs = options.sessionIdleMs ?? DEFAULTS.sessionIdleMs;
  const legacy = new LegacySessions({
    maxSessions: ({ owner }) => options.maxSessions?.(owner) ?? DEFAULTS.maxSessions,
    idleMs,
    bareIdleMs: Math.min(idleMs, options.bareSessionIdleMs ?? DEFAULTS.bareSessionIdleMs),
    onError,
  });
  const openModern = (cutOff: AbortSignal) =>
    createMcpHandler(
      ({ requestInfo }) => new FaceServer(faces.get(requestInfo!)!(), 'modern', { cutOff }),
      // `auto` answers in one piece until the first progress notification, which opens the stream.
      { legacy: 'reject', responseMode: 'auto', maxRequestBodySize, onerror: onError },
    );
  const accesses = new Accesses(openModern, legacy);
  const direct = new DirectHttp({ legacy, openStreamMs, track });

  async function serve(req: IncomingMessage, res: ServerResponse, access: Access): Promise<void> {
    const read = req.method === 'POST' ? await readBody(req, maxRequestBodySize) : { body: undefined };
    if (read === null || res.closed) return;
    if ('refused' in read) return refuse(res, read.refused);
    const { body } = read;
    const asked: Asked = {
      req,
      res,
      access,
      body,
      modernFace: once(() => options.build(req, { era: 'modern' })),
    };
    const { id } = (body ?? {}) as { id?: unknown };
    const ended: Refused = { status: 403, code: -32000, message: ENDED, id };
    if (access.cutOff.aborted) return refuse(res, ended);
    if (direct.serve(asked)) return;
    if (awaitsAnswer(body)) track(res);
    const { toNodeHandler } = await loadAdapter();
    if (access.cutOff.aborted) return refuse(res, ended);
    const fetch = (request: Request) => route(request, asked);
    await toNodeHandler({ fetch }, { onerror: onError, maxRequestBodySize })(req, res);
  }

  async function route(request: Request, { req, access, body, modernFace }: Asked): Promise<Response> {
    faces.set(request, modernFace);
    if (await isLegacyRequest(request, body)) {
      const build = () => options.build(req, { era: 'legacy' });
      return legacy.handle(request, body, access, () => {
        return new FaceServer(build(), 'legacy', { cutOff: access.cutOff });
      });
    }
    const answer = access.modern.fetch(request, { parsedBody: body });
    const mayStream = request.headers.get('accept')?.includes('text/event-stream');
    return mayStream && awaitsAnswer(body) ? openStreamEarly(answer, openStreamMs) : answer;
  }

  function track(res: ServerResponse): void {
    if (res.closed) return;
    unanswered.add(res);
    options.onInFlight?.(unanswered.size);
    res.once('close', () => {
      unanswered.delete(res);
      options.onInFlight?.(unanswered.size);
    });
  }

  return {
    handle: async (req, res) => {
      if (closed) return refuse(res, { status: 503, code: -32000, message: STOPPING });
      if (!METHODS.includes(req.method ?? '')) return refuse(res, WRONG_METHOD);
      // The access is looked up before the body arrives: if it ends during the upload, the request ends with it.
      await serve(req, res, accesses.of(options.owner?.(req) ?? ''));
    },
    inFlight: () => unanswered.size,
    sessions: () => legacy.size,
    ...everyone(() => accesses.audiences()),
    of: owner => everyone(() => accesses.audiences(owner)),
    endSessions: owner => accesses.end(owner, ENDED),
    close: async () => {
      closed = true;
      // Open requests are destroyed without an answer, as in a crash. A model that asked for permission, for example,
      // would take an error for an answer.
      for (const res of unanswered) if (!res.writableEnded) res.destroy();
      await accesses.endAll(STOPPING);
    },
  };
}

/** The adapter is loaded on first use: it needs Node's `fetch` and HTTP/2, and many hubs never have an HTTP client. */
const loadAdapter = once(() => import('@modelcontextprotocol/node'));

/** Returns a function that calls `make` at its first use and returns the same value from then on. */
function once<T>(make: () => T): () => T {
  let made: { it: T } | null = null;
  return () => {
    made ??= { it: make() };
    return made.it;
  };
}
