import { randomUUID } from 'node:crypto';
import {
  isInitializeRequest,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Access } from './access.ts';
import type { FaceServer } from './face-server.ts';
import { refusal } from './http-body.ts';
import { watchedResponse } from './legacy-response.ts';

export interface LegacySessionOptions {
  maxSessions: number;
  idleMs: number;
  onError(error: Error): void;
}

interface Session {
  transport: WebStandardStreamableHTTPServerTransport;
  server: FaceServer;
  /** A session answers only the owner that opened it. */
  access: Access;
  /** Requests and open streams; a session in use is never ended for being idle. */
  active: number;
  idleTimer: NodeJS.Timeout | undefined;
}

/** Clients of the older revisions keep a session; ours are bounded in number and in idle time. */
export class LegacySessions {
  readonly #options: LegacySessionOptions;
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: LegacySessionOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  servers(access: Access): FaceServer[] {
    return this.#of(access).map(([, session]) => session.server);
  }

  async handle(request: Request, body: unknown, access: Access, build: () => FaceServer): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const session = this.#sessions.get(id);
      if (!session || session.access !== access) return refusal(404, -32001, 'Session not found');
      this.#sessions.delete(id);
      this.#sessions.set(id, session);
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

  async #open(request: Request, body: unknown, access: Access, build: () => FaceServer): Promise<Response> {
    if (!this.#makeRoom()) return refusal(503, -32000, 'Too many sessions are in use; try again later');
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const server = build();
    const session: Session = { transport, server, access, active: 0, idleTimer: undefined };
    server.onclose = () => void this.#end(id);
    server.onerror = this.#options.onError;
    await server.connect(transport);
    this.#sessions.set(id, session);
    const response = await this.#serve(id, session, request, body);
    // The transport refused it (a wrong Accept header, say): no client will ever know the id.
    if (!response.ok) await this.#end(id);
    return response;
  }

  async #serve(id: string, session: Session, request: Request, body: unknown): Promise<Response> {
    clearTimeout(session.idleTimer);
    session.active += 1;
    let done = false;
    const release = () => {
      if (done) return;
      done = true;
      session.active -= 1;
      if (session.active > 0 || !this.#sessions.has(id)) return;
      session.idleTimer = setTimeout(() => void this.#end(id), this.#options.idleMs).unref();
    };
    try {
      const response = await session.transport.handleRequest(request, { parsedBody: body });
      const cancelled = cancelledId(body);
      if (cancelled !== undefined) session.transport.closeSSEStream(cancelled);
      return watchedResponse(response, request.signal, release);
    } catch (error) {
      release();
      throw error;
    }
  }

  #makeRoom(): boolean {
    if (this.#sessions.size < this.#options.maxSessions) return true;
    for (const [id, session] of this.#sessions) {
      if (session.active > 0) continue;
      void this.#end(id);
      return true;
    }
    return false;
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    clearTimeout(session.idleTimer);
    await session.server.close().catch(this.#options.onError);
  }
}

/** No answer follows a cancelled call; its stream would stay open for nothing, and the session look busy for ever. */
function cancelledId(body: unknown): RequestId | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { requestId?: RequestId } };
  return method === 'notifications/cancelled' ? params?.requestId : undefined;
}
