import { createServer, type Server, type Socket } from 'node:net';

const MAX_TRIED = 20;
const MAX_PORT = 65_535;

/**
 * Listens on both loopback addresses, at this port, one of the next ones, or any free one. A browser may resolve a name
 * under `.localhost` to either address, and a program at the other one could pretend to be our web UI.
 */
export async function listenNear(
  server: Server,
  wanted: number,
): Promise<{ port: number; other: Server | null }> {
  const last = Math.min(wanted + MAX_TRIED, MAX_PORT);
  for (let port = wanted; ; port++) {
    // With port 0 the system chooses a free port.
    const other = await listenTwice(server, port <= last ? port : 0);
    if (other !== 'taken') return { port: portOf(server), other };
  }
}

/** Listens on both loopback addresses. Null if the machine has no IPv6 loopback. */
async function listenTwice(server: Server, port: number): Promise<Server | null | 'taken'> {
  if ((await listens(server, port, '127.0.0.1')) !== 'listening') return 'taken';
  const other = createServer(LIKE_HTTP, (socket: Socket) => server.emit('connection', socket));
  other.maxConnections = server.maxConnections;
  const found = await listens(other, portOf(server), '::1');
  if (found === 'taken') await new Promise(closed => server.close(closed));
  return found === 'listening' ? other : found === 'absent' ? null : 'taken';
}

/** The options of Node's HTTP server for its sockets. */
export const LIKE_HTTP = { allowHalfOpen: true, noDelay: true };

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
