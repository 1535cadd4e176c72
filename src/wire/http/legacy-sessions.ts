import { randomUUID } from 'node:crypto';
import {
  type InitializeRequest,
  isInitializeRequest,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { tryParseJson } from '../../base/json.ts';
import type { FaceServer } from '../face/face-server.ts';
import type { Access } from './access.ts';
import { refusal } from './http-body.ts';

/** An SSE comment. Without a first byte the client would give up on a stream that has no events yet. */
const OPENING = new TextEncoder().encode(': open\n\n');

/**
 * Wraps the response so that it ends as soon as the client leaves. Otherwise the session would believe that its stream
 * is still being read.
 */
function watchedResponse(response: Response, signal: AbortSignal, onDone: () => void): Response {
  if (!response.body) {
    onDone();
    return response;
  }
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    start: controller => {
      if (isStream) controller.enqueue(OPENING);
    },
  });
  response.body.pipeTo(passing.writable, { signal }).then(onDone, onDone);
  return new Response(passing.readable, { status: response.status, headers: response.headers });
}

/**
 * Maximum length of the handshake in a session id, because of header limits. A longer handshake is left out of the id.
 * Then the next hub does not know the client's name.
 */
const MAX_HANDSHAKE = 1_500;
const ID = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.([\w-]+))?$/;

/**
 * The id of a legacy session contains the client's handshake, so that a hub that never saw the session can continue it:
 * most clients do not repeat the handshake when their session is gone. The id grants nothing; access is decided by the
 * token.
 */
function newSessionId({ params }: InitializeRequest): string {
  const { protocolVersion, capabilities, clientInfo } = params;
  const { name, version } = clientInfo;
  const handshake = JSON.stringify({ protocolVersion, capabilities, clientInfo: { name, version } });
  const id = randomUUID();
  return handshake.length > MAX_HANDSHAKE ? id : `${id}.${Buffer.from(handshake).toString('base64url')}`;
}

/** Parses a session id. Null if no hub of Squad created it. */
function readSessionId(id: string): { uuid: string; handshake: InitializeRequest } | null {
  const [, uuid, kept] = ID.exec(id) ?? [];
  if (uuid === undefined) return null;
  const params = kept ? tryParseJson(Buffer.from(kept, 'base64url').toString()) : UNKNOWN;
  const handshake = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
  return isInitializeRequest(handshake) ? { uuid, handshake } : null;
}

const UNKNOWN = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'unknown', version: '0' },
};

interface LegacySessionOptions {
  /** Maximum number of sessions per owner, so that no owner can use up those of others. */
  maxSessions(access: Access): number;
  idleMs: number;
  /** Idle timeout of a session that can be opened again without loss, because its id contains all its state. */
  bareIdleMs: number;
  onError(error: Error): void;
}

interface Session {
  transport: WebStandardStreamableHTTPServerTransport;
  server: FaceServer;
  /** Owner of the session. A session serves only the owner that opened it. */
  access: Access;
  /** Number of requests and open streams; a session in use is never closed for being idle. */
  active: number;
  idleTimer: NodeJS.Timeout | undefined;
}

/** Maximum number of remembered sessions that were ended on purpose; clients of older ones no longer ask. */
const MAX_ENDED = 10_000;

/**
 * Sessions of legacy clients, limited in number per owner and in idle time. A session of an earlier hub, or one that
 * was closed for being idle, is opened again when its client comes back.
 */
export class LegacySessions {
  readonly #options: LegacySessionOptions;
  /** Sessions ordered by last use, oldest first. */
  readonly #sessions = new Map<string, Session>();
  readonly #reopening = new Map<string, Promise<void>>();
  /**
   * First parts of the ids of sessions that were ended on purpose. Their clients get the answer that the session no
   * longer exists.
   */
  readonly #ended = new Set<string>();

  constructor(options: LegacySessionOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  servers(access: Access): FaceServer[] {
    return this.#of(access).map(([, session]) => session.server);
  }

  /** The owner's session with this id, marked as in use until `leave`. Null if there is none. */
  enter(id: string, access: Access): { server: FaceServer; leave(): void } | null {
    const session = this.#find(id, access);
    return session && { server: session.server, leave: this.#use(id, session) };
  }

  async handle(request: Request, body: unknown, access: Access, build: () => FaceServer): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      if (request.method !== 'DELETE') await this.#reopen(id, request.url, access, build);
      const session = this.#find(id, access);
      if (!session) return refusal(404, -32001, 'Session not found');
      return this.#serve(id, session, request, body);
    }
    if (isInitializeRequest(body)) return this.#open(request, body, access, build);
    if ((body as { method?: unknown } | undefined)?.method === 'initialize') {
      return refusal(400, -32602, 'Invalid params for initialize', (body as { id?: unknown }).id);
    }
    return refusal(400, -32000, 'Bad Request: the Mcp-Session-Id header is required');
  }

  async end(access: Access): Promise<void> {
    await Promise.all(this.#of(access).map(([id]) => this.#end(id)));
  }

  #of(access: Access): [string, Session][] {
    return Array.from(this.#sessions).filter(([, session]) => session.access === access);
  }

  #find(id: string, access: Access): Session | null {
    const session = this.#sessions.get(id);
    return session?.access === access ? session : null;
  }

  async #open(
    request: Request,
    body: InitializeRequest,
    access: Access,
    build: () => FaceServer,
  ): Promise<Response> {
    if (!this.#makeRoom(access)) return refusal(503, -32000, 'Too many sessions are in use; try again later');
    const id = newSessionId(body);
    const session = await this.#made(id, access, build);
    this.#sessions.set(id, session);
    const response = await this.#serve(id, session, request, body);
    // The transport refused the handshake (for example because of a wrong Accept header), so no client knows the id.
    if (!response.ok) await this.#end(id);
    return response;
  }

  /** A session that is connected; it is not yet in the list of sessions. */
  async #made(id: string, access: Access, build: () => FaceServer): Promise<Session> {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const server = build();
    server.onclose = () => void this.#end(id);
    server.onerror = this.#options.onError;
    await server.connect(transport);
    return { transport, server, access, active: 0, idleTimer: undefined };
  }

  /** Several requests of one client may arrive at once: the first opens the session, the others wait for it. */
  #reopen(id: string, url: string, access: Access, build: () => FaceServer): Promise<void> {
    const underWay = this.#reopening.get(id);
    if (underWay) return underWay;
    const known = readSessionId(id);
    if (!known || this.#sessions.has(id) || this.#ended.has(known.uuid) || !this.#makeRoom(access))
      return Promise.resolve();
    const reopened = this.#made(id, access, build)
      .then(async session => {
        await repeatHandshake(session.transport, url, id, known.handshake);
        // Leaving at once starts the idle timeout, in case the client is gone again.
        if (!access.cutOff.aborted) this.#use(id, session)();
      })
      .catch(this.#options.onError)
      .finally(() => this.#reopening.delete(id));
    this.#reopening.set(id, reopened);
    return reopened;
  }

  async #serve(id: string, session: Session, request: Request, body: unknown): Promise<Response> {
    const release = this.#use(id, session);
    try {
      const response = await session.transport.handleRequest(request, { parsedBody: body });
      const cancelled = response.ok ? cancelledId(body) : undefined;
      if (cancelled !== undefined) {
        session.transport.closeSSEStream(cancelled);
        for (const call of session.access.calls) if (call.isOf(id, cancelled)) call.cancel();
      }
      return watchedResponse(response, request.signal, release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Marks a session as used. Returns a function that ends this use. */
  #use(id: string, session: Session): () => void {
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    clearTimeout(session.idleTimer);
    session.active += 1;
    let done = false;
    return () => {
      if (done) return;
      done = true;
      session.active -= 1;
      if (session.active > 0 || !this.#sessions.has(id)) return;
      const { idleMs, bareIdleMs } = this.#options;
      session.idleTimer = setTimeout(
        () => void this.#end(id, { mayReturn: true }),
        isBare(id, session) ? bareIdleMs : idleMs,
      ).unref();
    };
  }

  #forget(id: string): void {
    const known = readSessionId(id);
    if (known) this.#ended.add(known.uuid);
    for (const oldest of this.#ended) if (this.#ended.size > MAX_ENDED) this.#ended.delete(oldest);
  }

  /** Only sessions of the same owner are closed to make room. */
  #makeRoom(access: Access): boolean {
    const own = this.#of(access);
    if (own.length < this.#options.maxSessions(access)) return true;
    for (const [id, session] of own) {
      if (session.active > 0) continue;
      void this.#end(id);
      return true;
    }
    return false;
  }

  async #end(id: string, { mayReturn = false } = {}): Promise<void> {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    if (!mayReturn) this.#forget(id);
    clearTimeout(session.idleTimer);
    for (const call of session.access.calls) if (call.isOf(id)) call.cancel();
    await session.server.close().catch(this.#options.onError);
  }
}

const isBare = (id: string, { server }: Session): boolean => id.includes('.') && !server.hasOwnState;

/** Repeats the handshake that the client did with a previous hub. */
async function repeatHandshake(
  transport: WebStandardStreamableHTTPServerTransport,
  url: string,
  id: string,
  handshake: InitializeRequest,
): Promise<void> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const tell = async (message: object, more: Record<string, string> = {}) => {
    const request = new Request(url, { method: 'POST', headers: { ...headers, ...more } });
    const response = await transport.handleRequest(request, { parsedBody: message });
    const text = await response.text();
    if (!response.ok) throw new Error(`A session could not be opened again: ${text}`);
  };
  await tell(handshake);
  await tell({ jsonrpc: '2.0', method: 'notifications/initialized' }, { 'mcp-session-id': id });
}

/**
 * A cancelled call gets no answer, so its stream must be closed: it would stay open, and the session would look busy
 * for ever.
 */
function cancelledId(body: unknown): RequestId | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { requestId?: RequestId } };
  return method === 'notifications/cancelled' ? params?.requestId : undefined;
}
