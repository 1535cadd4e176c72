import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Listening } from './listen.ts';
import { type Frame, StdioServer } from './stdio-server.ts';

/**
 * Serves a stdio server over HTTP, because the official runner knows no other transport. Messages pass unchanged. Each legacy
 * session has a process of its own. The current revision has no sessions: a request goes to a process in which its id is free.
 */
export async function serveOverStdio(start: () => ChildProcess): Promise<Listening> {
  const sessions = new Map<string, StdioServer>();
  const sessionless: StdioServer[] = [];
  const http = createServer((request, response) => {
    handle(request, response).catch(error => response.writeHead(500).end(String(error)));
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'] as string | undefined;
    const session = id === undefined ? undefined : sessions.get(id);
    if (id !== undefined && !session) response.writeHead(404).end();
    else if (request.method === 'POST') post(await text(request), session, response);
    else if (!session) response.writeHead(405).end();
    else if (request.method === 'GET') session.listen(response);
    else {
      sessions.delete(id!);
      await session.close();
      response.writeHead(204).end();
    }
  }

  function post(line: string, session: StdioServer | undefined, response: ServerResponse): void {
    const frame = JSON.parse(line) as Frame;
    const server = session ?? (opensSession(frame) ? inSession(response) : withFreeId(frame));
    server.take(line, frame, response);
  }

  function inSession(response: ServerResponse): StdioServer {
    const [id, server] = [randomUUID(), new StdioServer(start(), { inSession: true })];
    sessions.set(id, server);
    response.setHeader('mcp-session-id', id);
    return server;
  }

  function withFreeId({ id }: Frame): StdioServer {
    const free = sessionless.find(server => !server.waitsFor(id));
    if (free) return free;
    const server = new StdioServer(start(), { inSession: false });
    sessionless.push(server);
    return server;
  }

  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as { port: number }).port}/mcp`,
    close: async () => {
      await Promise.all([...sessions.values(), ...sessionless].map(server => server.close()));
      http.close();
      http.closeAllConnections();
      await once(http, 'close');
    },
  };
}

/** The current revision has no `initialize`: the runner sends it with `_meta` to check that it is refused. */
const opensSession = ({ method, params }: Frame): boolean =>
  method === 'initialize' && params?._meta === undefined;
