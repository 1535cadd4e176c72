import { createServer, type IncomingMessage, maxHeaderSize, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { asSquadError } from '../schema/error.ts';
import type { HttpHandler } from '../wire/http/serve-http.ts';
import { type BodyLimitOptions, BodyLimits } from './body-limits.ts';
import {
  Hosts,
  newPageName,
  OWN_ONLY,
  type Refusal,
  refuse,
  refuseForeign,
  refuseOnSocket,
  tokenOf,
  UNKNOWN,
} from './guard.ts';
import { listenNear } from './listen-near.ts';

/**
 * Answers a request that Node could not parse. Node's own answer is a bare status line, and every other refusal of the port
 * has a code. `response` is the last one that began on this connection.
 */
export function refuseMalformed(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex,
  response: ServerResponse | undefined,
): void {
  // After a part of another answer nothing could tell where this one begins.
  const isInAnswer = response?.headersSent && !response.writableFinished;
  if (!socket.writable || isInAnswer) return void socket.destroy();
  refuseOnSocket(socket, REFUSALS[code] ?? NOT_HTTP);
}

const NOT_HTTP: Refusal = {
  status: 400,
  code: 'INVALID_INPUT',
  message: 'This is not a valid HTTP/1.1 request',
};
const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'MESSAGE_TOO_LARGE',
    message: `The address and headers of a request may have ${maxHeaderSize} bytes together`,
    suggestions: ['Send long values in the body of a POST request.'],
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'MESSAGE_TOO_LARGE',
    message: 'The chunk extensions of the request body are too long',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'TIMEOUT',
    message: 'The request took too long to arrive',
    suggestions: ['Send the whole request at once.'],
  },
};

const MAX_UNAUTHENTICATED = 256;

/** Connections that have not shown a token, the longest there first. */
export class UnauthenticatedConnections {
  private readonly sockets = new Set<Socket>();

  /** Who has said nothing for the longest makes room, so that connections that only stand there keep nobody out. */
  add(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (this.sockets.size <= MAX_UNAUTHENTICATED) return;
    const [first] = this.sockets;
    this.sockets.delete(first!);
    first!.destroy();
  }

  delete(socket: Socket): void {
    this.sockets.delete(socket);
  }
}

/**
 * Purpose of a request. Files hold no secret, a ticket or a key is a secret of its own; everything else shows a token. `elsewhere`:
 * a document of the web UI, which is at another host.
 */
export type RequestKind = 'mcp' | 'api' | 'ticket' | 'file' | 'elsewhere' | 'none';

/** A browser requests these by itself, so it cannot send a token. */
const BY_TICKET = ['GET /api/live', 'GET /api/download'];
/** Requests of a page that has no session yet, or does not know yet who answers. */
const BEFORE_SESSION = ['GET /api/proof', 'POST /api/session'];

export function requestKind({ method, url, headers }: IncomingMessage, hosts: Hosts): RequestKind {
  const path = pathOf(url);
  const host = headers.host ?? '';
  const isPage = hosts.isPage(host);
  if (path === '/mcp') return hosts.isAddress(host) ? 'mcp' : 'none';
  if (BY_TICKET.includes(`${method} ${path}`)) return 'ticket';
  if (BEFORE_SESSION.includes(`${method} ${path}`)) return isPage ? 'ticket' : 'none';
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead || path.startsWith('/mcp/')) return 'none';
  return isPage ? 'file' : 'elsewhere';
}

/** Only this becomes a WebSocket. */
export const isLive = ({ method, url, headers }: IncomingMessage): boolean =>
  method === 'GET' && pathOf(url) === '/api/live' && headers.upgrade?.toLowerCase() === 'websocket';

const pathOf = (url: string | undefined): string => url?.split('?', 1)[0] ?? '';

export interface HttpServerOptions {
  /** Asked for; if others hold it, one of the next ones is taken. */
  port: number;
  /**
   * Whether this token is anybody's, the user's, that of a run at work or of a session of the web UI, and whoever shows it
   * may; otherwise why not.
   */
  admits(token: string, request: IncomingMessage, hosts: Hosts): boolean | Promise<boolean | Refusal>;
  mcp: Pick<HttpHandler, 'handle' | 'close'>;
  page: PageFace;
  /** Of request bodies; as they are unless given. */
  bodyLimits?: BodyLimitOptions;
  /** How many admitted requests are being answered, streams that stay open included. */
  onOpen?(count: number): void;
  onError?(error: unknown): void;
}

/** The page's files and what it asks for. Whoever comes by a ticket is let in by it, and says so with `admit`. */
export interface PageFace {
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    way: Exclude<RequestKind, 'mcp' | 'elsewhere' | 'none'>,
    admit: () => void,
  ): Promise<void>;
  /** What it is refused with; null: it is a WebSocket now. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admit: () => void): Promise<Refusal | null>;
  close(): Promise<void>;
}

export interface HttpServer {
  port: number;
  hosts: Hosts;
  close(): Promise<void>;
}

/** Who has not shown a token within this time is let go. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 120_000;
const LOOK_MS = 2_000;
/** A client is told the first and has both: on a busy machine a request and the end of an idle connection would meet otherwise. */
const IDLE_MS = 40_000;
const IDLE_SPARE_MS = 10_000;
const MAX_CONNECTIONS = 4_096;

/** The hub's port on loopback: every request passes the guard before a byte of its body is read. */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { admits, mcp, page, onOpen, onError } = options;
  const bodies = new BodyLimits(options.bodyLimits);
  let open = 0;
  const limits = {
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    keepAliveTimeoutBuffer: IDLE_SPARE_MS,
    connectionsCheckingInterval: LOOK_MS,
    // What else would like to be upgraded is answered as it is, where Node asks.
    shouldUpgradeCallback: isLive,
    // The guard refuses a request without one, with a code.
    requireHostHeader: false,
  };
  const server = createServer(limits, (request, response) => {
    admit(request, response, () => answer(request, response));
  });
  server.maxConnections = MAX_CONNECTIONS;
  const strangers = new UnauthenticatedConnections();
  /** Those that became WebSockets, or asked to, as well: the server itself does not know them any more. */
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    strangers.add(socket);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const lastResponse = new WeakMap<Duplex, ServerResponse>();
  server.on('clientError', (error, socket) => refuseMalformed(error, socket, lastResponse.get(socket)));
  // Who asks before it sends a body is told to go on only if the body would be read.
  server.on('checkContinue', (request, response) => {
    admit(request, response, () => {
      response.writeContinue();
      answer(request, response);
    });
  });
  server.on('checkExpectation', (request, response) => {
    admit(request, response, () => refuse(response, UNMET_EXPECTATION));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {}); // 'close' follows
    const refusal = refuseForeign(request, hosts) ?? (isLive(request) ? null : NO_UPGRADE);
    if (refusal) return refuseOnSocket(socket, refusal);
    page
      .upgrade(request, socket, head, () => enter(request, socket))
      .then(refused => refused && refuseOnSocket(socket, refused))
      .catch((thrown: unknown) => {
        onError?.(thrown);
        socket.destroy();
      });
  });
  const { port, other } = await listenNear(server, options.port);
  const hosts = new Hosts(newPageName(), port);
  server.unref();
  other?.unref();
  return {
    port,
    hosts,
    async close() {
      const closed = new Promise<void>(settle => server.close(() => settle()));
      other?.close();
      await Promise.all([mcp.close(), page.close()]);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };

  function admit(request: IncomingMessage, response: ServerResponse, enter: () => void): void {
    lastResponse.set(request.socket, response);
    for (const [name, value] of Object.entries(OWN_ONLY)) response.setHeader(name, value);
    refusalOf(request).then(
      foreign => {
        const refusal = foreign ?? bodies.admit(request, response, tokenOf(request) ?? '');
        if (refusal) refuse(response, refusal);
        else enter();
      },
      (thrown: unknown) => {
        onError?.(thrown);
        refuse(response, BUG);
      },
    );
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const way = requestKind(request, hosts) as Exclude<RequestKind, 'elsewhere' | 'none'>;
    if (way === 'mcp' || way === 'api') enter(request, response);
    const answered =
      way === 'mcp'
        ? mcp.handle(request, response)
        : page.handle(request, response, way, () => enter(request, response));
    answered.catch((thrown: unknown) => {
      const { code, kind, message, suggestions = [] } = asSquadError(thrown).toShape();
      const isMistake = kind === 'usage';
      if (!isMistake) onError?.(thrown);
      if (response.headersSent) response.destroy();
      else refuse(response, isMistake ? { status: 400, code, message, suggestions } : BUG);
    });
  }

  /** From here on it is somebody we know, until it closes. */
  function enter({ socket }: IncomingMessage, held: ServerResponse | Duplex): void {
    strangers.delete(socket);
    onOpen?.(++open);
    held.once('close', () => onOpen?.(--open));
  }

  async function refusalOf(request: IncomingMessage): Promise<Refusal | null> {
    const foreign = refuseForeign(request, hosts);
    if (foreign) return foreign;
    const way = requestKind(request, hosts);
    if (way === 'file' || way === 'ticket') return null;
    if (way === 'elsewhere') return NOT_HERE;
    return (await refuseUnknown(request)) ?? (way === 'none' ? NOWHERE : null);
  }

  async function refuseUnknown(request: IncomingMessage): Promise<Refusal | null> {
    const token = tokenOf(request);
    const admitted = token !== null && (await admits(token, request, hosts));
    return admitted === true ? null : admitted || UNKNOWN;
  }
}

const NOWHERE: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  message: 'The MCP endpoint is /mcp, the REST API is below /api',
};
/** Workers that others registered at the address of the port would answer for the web UI if it were here. */
const NOT_HERE: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  message: 'The web UI is not at this address: each start of the hub gives it a new one.',
  suggestions: ['To open it: squad open'],
  isForBrowser: true,
};
const NO_UPGRADE: Refusal = { status: 400, code: 'INVALID_INPUT', message: 'Only /api/live is a WebSocket' };
const UNMET_EXPECTATION: Refusal = {
  status: 417,
  code: 'INVALID_INPUT',
  message: 'The only "Expect" header that Squad knows is 100-continue',
};
const BUG: Refusal = {
  status: 500,
  code: 'INTERNAL',
  message: 'A bug in Squad',
  suggestions: ['`squad hub log` shows it.'],
};
