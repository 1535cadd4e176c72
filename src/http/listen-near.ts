import type { Server } from 'node:http';

const MOST_TRIED = 20;
const HIGHEST_PORT = 65_535;

/** Listens on loopback at this port, or at one of the next ones if others hold it, or at any; returns which. */
export async function listenNear(server: Server, wanted: number): Promise<number> {
  const last = Math.min(wanted + MOST_TRIED, HIGHEST_PORT);
  for (let port = wanted; port <= last; port++) if (await listens(server, port)) return portOf(server);
  await listens(server, 0);
  return portOf(server);
}

const portOf = (server: Server) => (server.address() as { port: number }).port;

/** False when the port cannot be had. */
function listens(server: Server, port: number): Promise<boolean> {
  return new Promise((settle, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off('listening', onListening);
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') settle(false);
      else reject(error);
    };
    const onListening = () => {
      server.off('error', onError);
      settle(true);
    };
    server.once('error', onError).once('listening', onListening);
    server.listen(port, '127.0.0.1');
  });
}
