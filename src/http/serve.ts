import {
  createServer,
  type IncomingMessage,
  maxHeaderSize,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createDoor, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { asSquadError } from '../schema/error.ts';
import type { HttpHandler } from '../wire/http/serve-http.ts';
import { type BodyLimitOptions, BodyLimits } from './body-limits.ts';
import {
  Hosts,
  newWebHost,
  OWN_ONLY,
  type Refusal,
  refuse,
  refuseForeign,
  refuseOnSocket,
  tokenOf,
  UNKNOWN,
} from './guard.ts';
import { LIKE_HTTP, listenNear } from './listen-near.ts';

/**
 * Answers a request that Node could not parse with an error code, like every other refusal; Node itself would send a
 * bare status line. `response` is the last response that began on this connection.
 */
export function refuseMalformed(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex,
  response: ServerResponse | undefined,
): void {
  // While another response is being sent, the client could not see where this one begins. The connection is closed
  // instead.
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
  // A getter, because the limit is in the module that is loaded with the first connection.
  get HPE_HEADER_OVERFLOW() {
    return {
      status: 431,
      code: 'MESSAGE_TOO_LARGE' as const,
      message: `The URL and headers of a request are limited to ${maxHeaderSize} bytes`,
      suggestions: ['Send long values in the body of a POST request.'],
    };
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

/**
 * Maximum number of connections that have not sent a token. A team of agents opens fewer at once, even if none of them
 * has had a chance to send its token.
 */
const MAX_UNAUTHENTICATED = 1_024;

/** Connections that have not sent a valid token, oldest first. */
export class UnauthenticatedConnections {
  private readonly sockets = new Set<Socket>();

  /** Beyond the limit the oldest connection is closed, so that idle connections cannot keep others out. */
  add(socket: Socket): void {
    if (!socket.destroyed) this.sockets.add(socket);
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
 * Purpose of a request. Files contain no secret, and tickets and keys are secrets by themselves; all other requests
 * need a token. `elsewhere`: a page of the web UI that was requested at the wrong host.
 */
export type RequestKind = 'mcp' | 'metrics' | 'api' | 'ticket' | 'file' | 'elsewhere' | 'none';

/** Requests that a browser makes by itself, so they have a ticket instead of a token. */
const BY_TICKET = ['GET /api/live', 'GET /api/download'];
/** Requests of a page that has no session yet, or has not yet verified the hub. */
const BEFORE_SESSION = ['GET /api/proof', 'POST /api/session'];

export function requestKind({ method, url, headers }: IncomingMessage, hosts: Hosts): RequestKind {
  const path = pathOf(url);
  const host = headers.host ?? '';
  const isWeb = hosts.isWeb(host);
  if (path === '/mcp') return hosts.isAddress(host) ? 'mcp' : 'none';
  if (path === '/metrics') return method === 'GET' && hosts.isAddress(host) ? 'metrics' : 'none';
  if (BY_TICKET.includes(`${method} ${path}`)) return 'ticket';
  if (BEFORE_SESSION.includes(`${method} ${path}`)) return isWeb ? 'ticket' : 'none';
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead || path.startsWith('/mcp/')) return 'none';
  return isWeb ? 'file' : 'elsewhere';
}

/** True for the only request that becomes a WebSocket. */
export const isLive = ({ method, url, headers }: IncomingMessage): boolean =>
  method === 'GET' && pathOf(url) === '/api/live' && headers.upgrade?.toLowerCase() === 'websocket';

const pathOf = (url: string | undefined): string => url?.split('?', 1)[0] ?? '';

export interface HttpServerOptions {
  /** Requested port. If it is in use, one of the next ports is used. */
  port: number;
  /**
   * True when this is the token of the user, of a running run or of a session of the web UI, and this client may use it.
   * Otherwise false or the reason.
   */
  admits(token: string, request: IncomingMessage, hosts: Hosts): boolean | Promise<boolean | Refusal>;
  mcp: Pick<HttpHandler, 'handle' | 'close'>;
  web: WebFace;
  /** Metrics in the format of Prometheus. Null if this client may not read them. */
  metrics?(request: IncomingMessage): Promise<string | null>;
  /** Limits for request bodies (default: BODY_LIMITS). */
  bodyLimits?: BodyLimitOptions;
  /** Called with the number of admitted requests that are being answered, including open streams. */
  onOpen?(count: number): void;
  onError?(error: unknown): void;
}

/** Files and requests of the web UI. It calls `admit` when it has accepted the ticket of a request. */
export interface WebFace {
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    kind: Exclude<RequestKind, 'mcp' | 'metrics' | 'elsewhere' | 'none'>,
    admit: () => void,
  ): Promise<void>;
  /** Returns a refusal, or null when the connection is now a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admit: () => void): Promise<Refusal | null>;
  close(): Promise<void>;
}

export interface HttpServer {
  port: number;
  hosts: Hosts;
  close(): Promise<void>;
}

/** Timeout for a client to send its token. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 120_000;
const CHECK_EVERY_MS = 2_000;
/**
 * Idle time that the server announces to clients as `keep-alive`. The server itself waits longer, so that no request
 * arrives while it closes an idle connection.
 */
const IDLE_TIMEOUT_MS = 40_000;
const IDLE_SPARE_MS = 10_000;
const MAX_CONNECTIONS = 4_096;

/** Opens the hub's port on loopback. Every request passes the guard before its body is read. */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { admits, mcp, web, onOpen, onError } = options;
  const bodies = new BodyLimits(options.bodyLimits);
  let open = 0;
  const limits = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveTimeoutBuffer: IDLE_SPARE_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    // Other upgrade requests are answered like ordinary requests.
    shouldUpgradeCallback: isLive,
    // Node would refuse a request without a Host header with a bare status. The guard refuses it with an error code.
    requireHostHeader: false,
  };
  const unauthenticated = new UnauthenticatedConnections();
  /** Includes sockets of WebSockets and of upgrade requests, which the server no longer tracks. */
  const sockets = new Set<Socket>();
  const lastResponse = new WeakMap<Duplex, ServerResponse>();
  let server: Server | null = null;
  const door = createDoor(LIKE_HTTP, (socket: Socket) => {
    unauthenticated.add(socket);
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      unauthenticated.delete(socket);
    });
    server ??= createHttpServer();
    server.emit('connection', socket);
  });
  door.maxConnections = MAX_CONNECTIONS;
  const { port, other } = await listenNear(door, options.port);
  const hosts = new Hosts(newWebHost(), port);
  door.unref();
  other?.unref();
  return {
    port,
    hosts,
    async close() {
      const closed = new Promise<void>(settle => door.close(() => settle()));
      other?.close();
      server?.close();
      await Promise.all([mcp.close(), web.close()]);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };

  /**
   * Created for the first connection, because many hubs serve no HTTP client, and Node's HTTP modules take 2 MB. The server
   * does not listen itself: `door` passes connections on to it.
   */
  function createHttpServer(): Server {
    const created = createServer(limits, (request, response) => {
      admit(request, response, () => answer(request, response));
    });
    created.on('clientError', (error, socket) => refuseMalformed(error, socket, lastResponse.get(socket)));
    // `Expect: 100-continue` is confirmed only if the body will be read.
    created.on('checkContinue', (request, response) => {
      admit(request, response, () => {
        response.writeContinue();
        answer(request, response);
      });
    });
    created.on('checkExpectation', (request, response) => {
      admit(request, response, () => refuse(response, UNMET_EXPECTATION));
    });
    created.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {}); // an error needs no handling here, because the 'close' event follows
      const refusal = refuseForeign(request, hosts) ?? (isLive(request) ? null : NO_UPGRADE);
      if (refusal) return refuseOnSocket(socket, refusal);
      web
        .upgrade(request, socket, head, () => enter(request, socket))
        .then(refused => refused && refuseOnSocket(socket, refused))
        .catch((thrown: unknown) => {
          onError?.(thrown);
          socket.destroy();
        });
    });
    // Node checks the timeouts of connections from this event on.
    created.emit('listening');
    return created;
  }

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

  async function answerMetrics(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await options.metrics?.(request)) ?? null;
    if (text === null) refuse(response, NOWHERE);
    else response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8').end(text);
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const kind = requestKind(request, hosts) as Exclude<RequestKind, 'elsewhere' | 'none'>;
    if (kind === 'mcp' || kind === 'metrics' || kind === 'api') enter(request, response);
    const answered =
      kind === 'mcp'
        ? mcp.handle(request, response)
        : kind === 'metrics'
          ? answerMetrics(request, response)
          : web.handle(request, response, kind, () => enter(request, response));
    answered.catch((thrown: unknown) => {
      const { code, kind: errorKind, message, suggestions = [] } = asSquadError(thrown).toShape();
      const isMistake = errorKind === 'usage';
      if (!isMistake) onError?.(thrown);
      if (response.headersSent) response.destroy();
      else refuse(response, isMistake ? { status: 400, code, message, suggestions } : BUG);
    });
  }

  /** From here on, the connection counts as authenticated until it is closed. */
  function enter({ socket }: IncomingMessage, held: ServerResponse | Duplex): void {
    unauthenticated.delete(socket);
    onOpen?.(++open);
    held.once('close', () => onOpen?.(--open));
  }

  async function refusalOf(request: IncomingMessage): Promise<Refusal | null> {
    const foreign = refuseForeign(request, hosts);
    if (foreign) return foreign;
    const kind = requestKind(request, hosts);
    if (kind === 'file' || kind === 'ticket') return null;
    if (kind === 'elsewhere') return NOT_HERE;
    return (await refuseUnknown(request)) ?? (kind === 'none' ? NOWHERE : null);
  }

  async function refuseUnknown(request: IncomingMessage): Promise<Refusal | null> {
    const token = tokenOf(request);
    if (token === null) return UNKNOWN;
    // Finding out which process sent a valid token takes a while, in which the connection must stay.
    unauthenticated.delete(request.socket);
    const admitted = await admits(token, request, hosts);
    if (admitted === true) return null;
    unauthenticated.add(request.socket);
    return admitted || UNKNOWN;
  }
}

const NOWHERE: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  message: 'The MCP endpoint is /mcp, the REST API is below /api',
};
/**
 * The web UI is not served at the address of the port: service workers that others registered there could answer for
 * it.
 */
const NOT_HERE: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  message: 'The web UI is not at this address. It gets a new address at each start of the hub.',
  suggestions: ['To open the web UI, run `squad open`.'],
  isForBrowser: true,
};
const NO_UPGRADE: Refusal = {
  status: 400,
  code: 'INVALID_INPUT',
  message: 'Only /api/live accepts WebSocket connections',
};
const UNMET_EXPECTATION: Refusal = {
  status: 417,
  code: 'INVALID_INPUT',
  message: 'The only supported "Expect" header is 100-continue',
};
const BUG: Refusal = {
  status: 500,
  code: 'INTERNAL',
  message: 'A bug in Squad',
  suggestions: ['`squad hub log` shows the error.'],
};
