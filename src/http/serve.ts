import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { HttpHandler } from '../wire/serve-http.ts';
import { guard } from './guard.ts';

const LAST_TRIED = 20;

export interface HttpServerOptions {
  /** Asked for; if others hold it, one of the next ones is taken. */
  port: number;
  token: string;
  mcp: HttpHandler;
}

export interface HttpServer {
  port: number;
  close(): Promise<void>;
}

/** The hub's port on loopback: every request passes the guard before a byte of its body is read. */
export async function serveHttp({ port: wanted, token, mcp }: HttpServerOptions): Promise<HttpServer> {
  let port = wanted;
  const server = createServer((request, response) => void route(request, response));
  for (;;) {
    if (await listens(server, port)) break;
    if (++port > wanted + LAST_TRIED) {
      port = 0;
      await listens(server, 0);
      break;
    }
  }
  const address = server.address();
  if (typeof address === 'object' && address) port = address.port;
  server.unref();
  return {
    port,
    async close() {
      await mcp.close();
      const closed = new Promise<void>(settle => server.close(() => settle()));
      server.closeAllConnections();
      await closed;
    },
  };

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = guard(request, port, token);
    if (refusal) return refuse(response, refusal.status, refusal.message);
    const path = new URL(request.url ?? '/', 'http://127.0.0.1').pathname;
    if (path !== '/mcp') return refuse(response, 404, 'NOT_FOUND: the MCP endpoint is /mcp');
    await mcp.handle(request, response);
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const [code, text] = message.split(': ');
  response.writeHead(status, {
    'content-type': 'application/json',
    connection: 'close',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  });
  response.end(`${JSON.stringify({ error: { code, message: text } })}\n`);
}

/** False when somebody else has the port. */
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
