import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import type { Era } from '../../face/face.ts';
import { sampleServer } from '../fixtures/sample-server.ts';

export interface TestServer {
  url: string;
  /** Method and headers of each request, oldest first. */
  asked: { method: string; headers: IncomingMessage['headers'] }[];
  close(): Promise<void>;
}

/** Starts a real server on loopback, at a free port or at the given port, so that a closed server can come back. */
export async function serve(listener: RequestListener, port = 0): Promise<TestServer> {
  const asked: TestServer['asked'] = [];
  const server = createServer((request, response) => {
    asked.push({ method: request.method ?? '', headers: request.headers });
    listener(request, response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`,
    asked,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export interface SampleHttp extends TestServer {
  /** How each `hold` call ended. */
  holds: string[];
  /** Sends a notification that the tools have changed. */
  change(): void;
  /** Drops all sessions. */
  forget(): void;
}

/** Serves the sample server over HTTP, in one protocol version only. */
export async function serveSample(era: Era, port = 0): Promise<SampleHttp> {
  const holds: string[] = [];
  const onHold = (state: string) => holds.push(state);
  if (era === 'modern') {
    const handler = createMcpHandler(() => sampleServer(onHold), { legacy: 'reject' });
    const server = await serve(toNodeHandler(handler), port);
    return {
      ...server,
      holds,
      change: () => handler.notify.toolsChanged(),
      forget: () => {},
      close: async () => {
        await handler.close();
        await server.close();
      },
    };
  }
  const sessions = new Map<string, { transport: NodeStreamableHTTPServerTransport; server: McpServer }>();
  const server = await serve(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known) return known.transport.handleRequest(request, response);
    if (id !== undefined) return refuse(response, 404, -32001, 'Session not found');
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: newId => {
        sessions.set(newId, { transport, server: made });
      },
    });
    const made = sampleServer(onHold);
    await made.connect(transport);
    await transport.handleRequest(request, response);
  }, port);
  return {
    ...server,
    holds,
    change: () => {
      for (const each of sessions.values()) each.server.sendToolListChanged();
    },
    forget: () => sessions.clear(),
  };
}

export function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

/** Reads and parses the whole body. */
export async function bodyOf(request: IncomingMessage): Promise<{ id?: number; method?: string }> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString() || '{}');
}
