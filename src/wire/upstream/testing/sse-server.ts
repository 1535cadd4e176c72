import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { sampleServer } from '../fixtures/sample-server.ts';
import { bodyOf, serve, type TestServer } from './http-servers.ts';

/** The HTTP+SSE transport of the 2024 protocol for an SDK server. The SDK no longer contains it. */
class SseTransport implements Transport {
  onclose?: () => void;
  onmessage?: Transport['onmessage'];
  readonly #stream: ServerResponse;
  readonly #endpoint: string;

  constructor(stream: ServerResponse, endpoint: string) {
    this.#stream = stream;
    this.#endpoint = endpoint;
  }

  async start(): Promise<void> {
    this.#stream.writeHead(200, { 'content-type': 'text/event-stream' });
    this.#stream.write(`event: endpoint\ndata: ${this.#endpoint}\n\n`);
    this.#stream.on('close', () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  async close(): Promise<void> {
    this.#stream.end();
  }
}

export interface SseServer extends TestServer {
  /** Ends the event stream. */
  hangUp(): void;
  holds: string[];
}

/** Serves the sample server over HTTP+SSE. `endpoint` is the address that the server announces for messages. */
export async function serveSse(endpoint = '/messages?session=1', port = 0): Promise<SseServer> {
  const holds: string[] = [];
  let transport: SseTransport | null = null;
  const server = await serve(async (request, response) => {
    if (request.method === 'GET') {
      transport = new SseTransport(response, endpoint);
      await sampleServer(state => holds.push(state)).connect(transport);
    } else if (request.url === endpoint) {
      const message = await bodyOf(request);
      response.writeHead(202).end('Accepted');
      transport?.onmessage?.(message as JSONRPCMessage);
    } else response.writeHead(404).end();
  }, port);
  return { ...server, holds, hangUp: () => void transport?.close() };
}
