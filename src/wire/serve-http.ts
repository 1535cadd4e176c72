import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import type { ChangeNotices, Era, Face } from './face.ts';
import { FaceServer } from './face-server.ts';
import { awaitsAnswer, readBody, refusal } from './http-body.ts';
import { LegacySessions } from './legacy-sessions.ts';

export interface HttpOptions {
  /** What this request may see; in the legacy era asked once, when the session opens. */
  build(request: IncomingMessage, info: { era: Era }): Face;
  /** Whose request it is: a legacy session is closed to every other caller. */
  owner?(request: IncomingMessage): string;
  maxBodyBytes?: number;
  maxSessions?: number;
  sessionIdleMs?: number;
  onInFlight?(count: number): void;
  onError?(error: Error): void;
}

export interface HttpHandler {
  /** For one path of a node:http server. Checks neither token, Host nor Origin: put guards in front. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Requests not yet answered; streams that only listen do not count. */
  inFlight(): number;
  sessions(): number;
  notices: ChangeNotices;
  close(): Promise<void>;
}

const DEFAULTS = { maxBodyBytes: 32 * 1024 * 1024, maxSessions: 100, sessionIdleMs: 30 * 60_000 };

/** Streamable HTTP in both eras: modern requests stand alone, legacy ones belong to a session. */
export function createHttpHandler(options: HttpOptions): HttpHandler {
  const maxRequestBodySize = options.maxBodyBytes ?? DEFAULTS.maxBodyBytes;
  const onError = (error: Error) => options.onError?.(error);
  const origin = new WeakMap<Request, IncomingMessage>();
  let inFlight = 0;
  let closed = false;

  const modern = createMcpHandler(
    ({ requestInfo }) =>
      new FaceServer(options.build(origin.get(requestInfo!)!, { era: 'modern' }), 'modern'),
    // `auto` answers in one piece until the first progress notice, which opens the stream.
    { legacy: 'reject', responseMode: 'auto', maxRequestBodySize, onerror: onError },
  );
  const legacy = new LegacySessions({
    maxSessions: options.maxSessions ?? DEFAULTS.maxSessions,
    idleMs: options.sessionIdleMs ?? DEFAULTS.sessionIdleMs,
    onError,
  });

  async function route(request: Request, node: IncomingMessage, res: ServerResponse): Promise<Response> {
    if (closed) return refusal(503, -32000, 'The server is stopping');
    const read = await readBody(request);
    if ('refused' in read) return read.refused;
    const { body } = read;
    if (awaitsAnswer(body)) track(res);
    // The body is read already; what goes on carries it parsed.
    const bare = new Request(request.url, {
      method: request.method,
      headers: request.headers,
      signal: request.signal,
    });
    origin.set(bare, node);
    if (!(await isLegacyRequest(bare, body))) return modern.fetch(bare, { parsedBody: body });
    const build = () => new FaceServer(options.build(node, { era: 'legacy' }), 'legacy');
    return legacy.handle(bare, body, options.owner?.(node) ?? '', build);
  }

  function track(res: ServerResponse): void {
    if (res.closed) return;
    inFlight += 1;
    options.onInFlight?.(inFlight);
    res.once('close', () => {
      inFlight -= 1;
      options.onInFlight?.(inFlight);
    });
  }

  const tell = (notice: (notices: ChangeNotices) => void) => {
    notice(modern.notify);
    for (const server of legacy.servers()) notice(server.notices());
  };

  return {
    handle: (req, res) =>
      toNodeHandler({ fetch: request => route(request, req, res) }, { onerror: onError, maxRequestBodySize })(
        req,
        res,
      ),
    inFlight: () => inFlight,
    sessions: () => legacy.size,
    notices: {
      toolsChanged: () => tell(notices => notices.toolsChanged()),
      promptsChanged: () => tell(notices => notices.promptsChanged()),
      resourcesChanged: () => tell(notices => notices.resourcesChanged()),
      resourceUpdated: uri => tell(notices => notices.resourceUpdated(uri)),
    },
    close: async () => {
      closed = true;
      await Promise.all([modern.close(), legacy.closeAll()]);
    },
  };
}
