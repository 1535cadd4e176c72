import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { serveByTicket } from './by-ticket.ts';
import type { HttpProblem } from './http-problem.ts';
import { LiveSocket, type LiveTimes } from './live-socket.ts';
import { LoginHandler } from './login.ts';
import type { PagePorts } from './ports.ts';
import { restApi } from './rest.ts';
import { PageFiles } from './static-files.ts';
import { Tickets } from './tickets.ts';

export interface PageServer {
  /** `way`: whether it has shown a token, comes without one where none is needed, or wants a file. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    way: 'api' | 'ticket' | 'file',
    admit: () => void,
  ): Promise<void>;
  /** What it is refused with; null: it is a WebSocket now. */
  upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    admit: () => void,
  ): Promise<HttpProblem | null>;
  /** A key that lets one browser in at this host. */
  key(host: string): string;
  close(): Promise<void>;
}

/** Everything of the page's that is not the guard: files, REST, tickets, the live feed. */
export function servePage(ports: PagePorts, times: LiveTimes): PageServer {
  const tickets = new Tickets(ports.services.clock);
  const words = new LoginHandler(ports, tickets);
  const files = new PageFiles(ports.webFolder);
  const live = new LiveSocket(ports, tickets, times);
  const rest = getRequestListener(restApi(ports, tickets).fetch, { overrideGlobalObjects: false });
  return {
    async handle(request, response, way, admit) {
      if (way === 'file') await files.serve(request, response);
      else if (way === 'ticket') await serveByTicket(request, response, { ports, tickets, words, admit });
      else await rest(request, response);
    },
    upgrade: async (request, socket, head, admit) => live.upgrade(request, socket, head, admit),
    key: host => tickets.issue({ purpose: 'open', host }).ticket,
    close: () => live.close(),
  };
}
