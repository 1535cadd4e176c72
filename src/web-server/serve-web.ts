import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative } from 'node:path';
import type { Duplex } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { getRequestListener } from '@hono/node-server';
import { isViewPath } from '../schema/web-ui.ts';
import { LoginHandler, serveByTicket } from './by-ticket.ts';
import type { HttpProblem } from './http-problem.ts';
import { LiveSocket, type LiveTimes } from './live-socket.ts';
import type { WebPorts } from './ports.ts';
import { restApi } from './rest.ts';
import { Tickets } from './tickets.ts';

/** `host` was checked by the guard: it is one of the hub's own names. */
const contentPolicy = (host: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ws://${host}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};

const NOT_BUILT = 'This build of Squad has no web UI. Build it in its repository: npm run build\n';

/** Serves the files of the web UI. Only names found in its folder are served, so no requested path can leave it. */
export class StaticFiles {
  private readonly folder: string;
  private names: Promise<ReadonlySet<string>> | null = null;

  constructor(folder: string) {
    this.folder = folder;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?', 1)[0]!.slice(1);
    const isFile = extname(path) !== '';
    // A newer build may have replaced the files, under other names, since the page was loaded.
    if (!isFile) this.names = null;
    this.names ??= namesIn(this.folder);
    const name = isFile ? path : 'index.html';
    const headers = {
      'content-security-policy': contentPolicy(request.headers.host!),
      vary: 'accept-encoding',
    };
    const names = await this.names;
    const isZipped = names.has(`${name}.gz`);
    const sendsZipped = isZipped && acceptsGzip(request);
    const stored = isZipped ? await this.read(`${name}.gz`) : names.has(name) ? await this.read(name) : null;
    const content = stored !== null && isZipped && !sendsZipped ? gunzipSync(stored) : stored;
    if (content === null) {
      response.writeHead(404, { ...headers, 'content-type': 'text/plain; charset=utf-8' });
      response.end(isFile ? 'File not found\n' : NOT_BUILT);
      return;
    }
    // For an unknown view the web UI shows its own 404 page.
    response.writeHead(isFile || isViewPath(`/${path}`) ? 200 : 404, {
      ...headers,
      'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
      'content-length': content.length,
      ...(sendsZipped && { 'content-encoding': 'gzip' }),
      // A name in `assets` has a hash of its content in it.
      'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-store',
    });
    response.end(content);
  }

  /** Reads a file of the web UI. Null if a new build has just replaced the file. */
  private read(name: string): Promise<Buffer | null> {
    return readFile(join(this.folder, name)).catch(() => null);
  }
}

/** Whether the client accepts gzip. `gzip;q=0` means that it does not. */
const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(String(headers['accept-encoding'] ?? ''));

async function namesIn(folder: string): Promise<ReadonlySet<string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return new Set(
    found
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/')),
  );
}

export interface WebServer {
  /** Handles a request. `way` says how it is authorised: by a token, by a ticket or key, or not at all for a file. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    way: 'api' | 'ticket' | 'file',
    admit: () => void,
  ): Promise<void>;
  /** Returns the error to respond with. Null if the connection is a WebSocket now. */
  upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    admit: () => void,
  ): Promise<HttpProblem | null>;
  /** Creates a key that opens a session for one browser at this host. */
  key(host: string): string;
  close(): Promise<void>;
}

/** The web server behind the guard: files, REST API, tickets and the live feed. */
export function serveWeb(ports: WebPorts, times: LiveTimes): WebServer {
  const tickets = new Tickets(ports.services.clock);
  const login = new LoginHandler(ports, tickets);
  const files = new StaticFiles(ports.webFolder);
  const live = new LiveSocket(ports, tickets, times);
  const rest = getRequestListener(restApi(ports, tickets).fetch, { overrideGlobalObjects: false });
  return {
    async handle(request, response, way, admit) {
      if (way === 'file') await files.serve(request, response);
      else if (way === 'ticket') await serveByTicket(request, response, { ports, tickets, login, admit });
      else await rest(request, response);
    },
    upgrade: async (request, socket, head, admit) => live.upgrade(request, socket, head, admit),
    key: host => tickets.issue({ purpose: 'open', host }).ticket,
    close: () => live.close(),
  };
}
