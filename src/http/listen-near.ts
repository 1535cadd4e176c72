import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';

const MAX_TRIED = 20;
const MAX_PORT = 65_535;

/**
 * Listens on both loopback addresses at this port, or at one of the next ones if others hold it, or at any. A browser that is given a
 * name under `.localhost` may try either address: whoever had the other one would be our web UI to it.
 */
export async function listenNear(
  server: HttpServer,
  wanted: number,
): Promise<{ port: number; other: Server | null }> {
  const last = Math.min(wanted + MAX_TRIED, MAX_PORT);
  for (let port = wanted; ; port++) {
    // Port 0: the system chooses one.
    const other = await listenTwice(server, port <= last ? port : 0);
    if (other !== 'taken') return { port: portOf(server), other };
  }
}

/** Null: this machine has no IPv6 loopback, so nobody can listen there. */
async function listenTwice(server: HttpServer, port: number): Promise<Server | null | 'taken'> {
  if ((await listens(server, port, '127.0.0.1')) !== 'listening') return 'taken';
  const other = createServer(LIKE_HTTP, (socket: Socket) => server.emit('connection', socket));
  other.maxConnections = server.maxConnections;
  const found = await listens(other, portOf(server), '::1');
  if (found === 'taken') await new Promise(closed => server.close(closed));
  return found === 'listening' ? other : found === 'absent' ? null : 'taken';
}

/** The same options as Node's own HTTP server uses for its sockets. */
const LIKE_HTTP = { allowHalfOpen: true, noDelay: true };

const portOf = (server: Server) => (server.address() as { port: number }).port;

function listens(server: Server, port: number, host: string): Promise<'listening' | 'taken' | 'absent'> {
  return new Promise((settle, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off('listening', onListening);
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') settle('taken');
      else if (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT') settle('absent');
      else reject(error);
    };
    const onListening = () => {
      server.off('error', onError);
      settle('listening');
    };
    server.once('error', onError).once('listening', onListening);
    server.listen(port, host);
  });
}
