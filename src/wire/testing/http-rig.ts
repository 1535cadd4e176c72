import { once } from 'node:events';
import { createServer } from 'node:http';
import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Era } from '../face/face.ts';
import { createHttpHandler, type HttpHandler, type HttpOptions } from '../http/serve-http.ts';

export interface HttpRig {
  handler: HttpHandler;
  url: URL;
  /** Connects a real SDK client of that protocol version. */
  client(era: Era, headers?: Record<string, string>, capabilities?: ClientCapabilities): Promise<Client>;
  post(body: string, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** A real HTTP server on loopback with Squad's handler. */
export async function httpRig(options: HttpOptions): Promise<HttpRig> {
  const clients: Client[] = [];
  const handler = createHttpHandler(options);
  const server = createServer((request, response) => void handler.handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`);

  return {
    handler,
    url,
    client: async (era, headers = {}, capabilities = {}) => {
      const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
      const client = new Client(
        { name: 'wire-test', version: '9.9' },
        { versionNegotiation: { mode }, capabilities },
      );
      clients.push(client);
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
      return client;
    },
    post: (body, headers = {}) =>
      fetch(url, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      }),
    close: async () => {
      await Promise.all(clients.map(client => client.close()));
      await handler.close();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
