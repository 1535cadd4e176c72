import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { asSquadError } from '../schema/error.ts';
import type { HttpHandler } from '../wire/serve-http.ts';
import { type Refusal, refuseForeign, tokenOf, UNKNOWN } from './guard.ts';
import { listenNear } from './listen-near.ts';

export interface HttpServerOptions {
  /** Asked for; if others hold it, one of the next ones is taken. */
  port: number;
  /** Whether this token is anybody's: the user's, or that of a run at work. */
  admits(token: string, request: IncomingMessage): boolean;
  mcp: Pick<HttpHandler, 'handle' | 'close'>;
  /** How many admitted requests are being answered, streams that stay open included. */
  onOpen?(count: number): void;
  onError?(error: unknown): void;
}

export interface HttpServer {
  port: number;
  close(): Promise<void>;
}

/** Who has not shown a token within this time is let go. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 120_000;
const LOOK_MS = 2_000;
/** Connections at a time, and those of them that have not shown a token. */
const MOST_CONNECTIONS = 4_096;
const MOST_STRANGERS = 256;

/** The hub's port on loopback: every request passes the guard before a byte of its body is read. */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { admits, mcp, onOpen, onError } = options;
  let open = 0;
  const limits = {
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: LOOK_MS,
  };
  const server = createServer(limits, (request, response) => {
    if (passes(request, response)) answer(request, response);
  });
  server.maxConnections = MOST_CONNECTIONS;
  /** The longest there first. */
  const strangers = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    strangers.add(socket);
    socket.once('close', () => strangers.delete(socket));
    if (strangers.size <= MOST_STRANGERS) return;
    // Who has said nothing for the longest makes room, so that connections that only stand there keep nobody out.
    const [first] = strangers;
    strangers.delete(first!);
    first!.destroy();
  });
  // Who asks before it sends a body is told to go on only if the body would be read.
  server.on('checkContinue', (request, response) => {
    if (!passes(request, response)) return;
    response.writeContinue();
    answer(request, response);
  });
  const port = await listenNear(server, options.port);
  server.unref();
  return {
    port,
    async close() {
      const closed = new Promise<void>(settle => server.close(() => settle()));
      await mcp.close();
      server.closeAllConnections();
      await closed;
    },
  };

  function passes(request: IncomingMessage, response: ServerResponse): boolean {
    const refusal = refusalOf(request);
    if (refusal) refuse(response, refusal);
    else strangers.delete(request.socket);
    return refusal === null;
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    onOpen?.(++open);
    response.once('close', () => onOpen?.(--open));
    mcp.handle(request, response).catch((thrown: unknown) => {
      const { code, kind, message, suggestions = [] } = asSquadError(thrown).toShape();
      const isMistake = kind === 'usage';
      if (!isMistake) onError?.(thrown);
      if (response.headersSent) response.destroy();
      else if (isMistake)
        refuse(response, { status: 400, code, message: [message, ...suggestions].join('. ') });
      else
        refuse(response, { status: 500, code: 'INTERNAL', message: 'A bug in Squad; see `squad hub log`' });
    });
  }

  function refusalOf(request: IncomingMessage): Refusal | null {
    const path = request.url?.split('?', 1)[0];
    return (
      refuseForeign(request, port) ??
      refuseUnknown(request) ??
      (path === '/mcp' ? null : { status: 404, code: 'NOT_FOUND', message: 'The MCP endpoint is /mcp' })
    );
  }

  function refuseUnknown(request: IncomingMessage): Refusal | null {
    const token = tokenOf(request);
    return token !== null && admits(token, request) ? null : UNKNOWN;
  }
}

function refuse(response: ServerResponse, { status, code, message }: Refusal): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    connection: 'close',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  });
  response.end(`${JSON.stringify({ error: { code, message } })}\n`);
}
