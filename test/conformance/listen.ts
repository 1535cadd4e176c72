import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { Hosts, newWebHost, refuseForeign } from '../../src/http/guard.ts';
import type { HttpHandler } from '../../src/wire/http/serve-http.ts';

export interface Listening {
  url: string;
  close(): Promise<void>;
}

/** Serves the handler to the official runner, without a token, but with the other checks of our HTTP guard. */
export async function listen(
  handler: HttpHandler,
  refusal: (request: IncomingMessage) => string | null = () => null,
): Promise<Listening> {
  const server = createServer((request, response) => {
    const refused = refusal(request);
    if (refuseForeign(request, hosts)) response.writeHead(403).end();
    else if (refused !== null) response.writeHead(400).end(refused);
    else void handler.handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const hosts = new Hosts(newWebHost(), port);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      await handler.close();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
