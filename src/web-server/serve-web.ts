import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { serveByTicket } from './by-ticket.ts';
import type { HttpProblem } from './http-problem.ts';
import { LiveSocket, type LiveTimes } from './live-socket.ts';
import { LoginHandler } from './login.ts';
import type { WebPorts } from './ports.ts';
import { restApi } from './rest.ts';
import { StaticFiles } from './static-files.ts';
import { Tickets } from './tickets.ts';

export interface WebServer {
  /** `way`: an API request with a token, a request with a ticket or key instead, or a request for a file. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    way: 'api' | 'ticket' | 'file',
    admit: () => void,
  ): Promise<void>;
  /** Returns the error to respond with; null: the connection is a WebSocket now. */
  upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    admit: () => void,
  ): Promise<HttpProblem | null>;
  /** A key that opens a session for one browser at this host. */
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
