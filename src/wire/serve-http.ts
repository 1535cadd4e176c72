import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { type Access, Accesses } from './access.ts';
import { openedEarly } from './early-stream.ts';
import type { Audience, Era, Face } from './face.ts';
import { everyone } from './face-audience.ts';
import { FaceServer } from './face-server.ts';
import { awaitsAnswer, readBody, refusal } from './http-body.ts';
import { LegacySessions } from './legacy-sessions.ts';

export interface HttpOptions {
  /** What this request may see; in the legacy era asked once, when the session opens. */
  build(request: IncomingMessage, info: { era: Era }): Face;
  /** Whose request it is: a legacy session is closed to every other owner, and `endSessions` ends what one has open. */
  owner?(request: IncomingMessage): string;
  maxBodyBytes?: number;
  maxSessions?: number;
  sessionIdleMs?: number;
  /** A call without an answer for this long gets its stream opened, so that its client sees that we are there. */
  openStreamMs?: number;
  onInFlight?(count: number): void;
  onError?(error: Error): void;
}

/** As an audience: everybody. A legacy client hears what comes unasked only while it keeps its listening stream open. */
export interface HttpHandler extends Audience {
  /** For one path of a node:http server. Checks neither token, Host nor Origin: put guards in front. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Requests not yet answered; streams that only listen do not count. */
  inFlight(): number;
  sessions(): number;
  /** One owner's clients only. */
  of(owner: string): Audience;
  /** Ends the owner's sessions, calls and listening streams. Take its token away first: who still has one may come back. */
  endSessions(owner: string): Promise<void>;
  close(): Promise<void>;
}

const DEFAULTS = {
  maxBodyBytes: 32 * 1024 * 1024,
  maxSessions: 100,
  sessionIdleMs: 30 * 60_000,
  openStreamMs: 10_000,
};

const ENDED = 'This access has ended';
const STOPPING = 'The server is stopping';

/** Streamable HTTP in both eras: modern requests stand alone, legacy ones belong to a session. */
export function createHttpHandler(options: HttpOptions): HttpHandler {
  const maxRequestBodySize = options.maxBodyBytes ?? DEFAULTS.maxBodyBytes;
  const onError = (error: Error) => options.onError?.(error);
  const openStreamMs = options.openStreamMs ?? DEFAULTS.openStreamMs;
  const origin = new WeakMap<Request, IncomingMessage>();
  let inFlight = 0;
  let closed = false;
  const legacy = new LegacySessions({
    maxSessions: options.maxSessions ?? DEFAULTS.maxSessions,
    idleMs: options.sessionIdleMs ?? DEFAULTS.sessionIdleMs,
    onError,
  });
  const serverFor = (node: IncomingMessage, era: Era, cutOff: AbortSignal) =>
    new FaceServer(options.build(node, { era }), era, { cutOff });
  const openModern = (cutOff: AbortSignal) =>
    createMcpHandler(
      ({ requestInfo }) => serverFor(origin.get(requestInfo!)!, 'modern', cutOff),
      // `auto` answers in one piece until the first progress notice, which opens the stream.
      { legacy: 'reject', responseMode: 'auto', maxRequestBodySize, onerror: onError },
    );
  const accesses = new Accesses(openModern, legacy);

  async function route(
    request: Request,
    node: IncomingMessage,
    res: ServerResponse,
    access: Access,
  ): Promise<Response> {
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
    const isLegacy = await isLegacyRequest(bare, body);
    if (access.cutOff.aborted) return refusal(403, -32000, ENDED, (body as { id?: unknown } | undefined)?.id);
    if (isLegacy) return legacy.handle(bare, body, access, () => serverFor(node, 'legacy', access.cutOff));
    const answer = access.modern.fetch(bare, { parsedBody: body });
    const mayStream = request.headers.get('accept')?.includes('text/event-stream');
    return mayStream && awaitsAnswer(body) ? openedEarly(answer, openStreamMs) : answer;
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

  return {
    handle: async (req, res) => {
      // Taken before the body comes: if it ends meanwhile, the request ends with it.
      const access = closed ? null : accesses.of(options.owner?.(req) ?? '');
      const fetch = async (request: Request) =>
        access ? route(request, req, res, access) : refusal(503, -32000, STOPPING);
      await toNodeHandler({ fetch }, { onerror: onError, maxRequestBodySize })(req, res);
    },
    inFlight: () => inFlight,
    sessions: () => legacy.size,
    ...everyone(() => accesses.audiences()),
    of: owner => everyone(() => accesses.audiences(owner)),
    endSessions: owner => accesses.end(owner, ENDED),
    close: async () => {
      closed = true;
      await accesses.endAll(STOPPING);
    },
  };
}
