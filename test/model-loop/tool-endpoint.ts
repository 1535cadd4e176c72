/** The endpoint of a run as an agent sees it: a few tools over HTTP, one per page of the list. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

export interface EndpointTool {
  name: string;
  description?: string;
  inputSchema?: object;
  outputSchema?: object;
  /** The result, or a whole answer of its own. */
  answer(call: Call, response: ServerResponse): unknown;
}

export interface ToolEndpoint extends AsyncDisposable {
  url: string;
  token: string;
  calls: Call[];
  /** Requests that the agent gave up. */
  dropped: string[];
}

export const said = (words: string) => ({ content: [{ type: 'text', text: words }] });

export async function startToolEndpoint(tools: EndpointTool[], wanted = 0): Promise<ToolEndpoint> {
  const token = 'token-of-this-run';
  const calls: Call[] = [];
  const dropped: string[] = [];
  const server = createServer((request, response) => void serve(request, response));
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/runs/mcp`,
    token,
    calls,
    dropped,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method, params } = JSON.parse(await text(request));
    const isRight =
      request.headers.authorization === `Bearer ${token}` &&
      request.headers['mcp-method'] === method &&
      request.headers['mcp-protocol-version'] === '2026-07-28';
    if (!isRight) {
      response.writeHead(401).end('This access has ended');
      return;
    }
    const result = method === 'tools/list' ? page(Number(params.cursor ?? 0)) : await call(params, response);
    if (result === undefined) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }

  function page(at: number) {
    const { name, description = name, inputSchema = { type: 'object' }, outputSchema } = tools[at]!;
    return {
      tools: [{ name, description, inputSchema, outputSchema }],
      ...(at + 1 < tools.length && { nextCursor: String(at + 1) }),
    };
  }

  async function call(params: Call, response: ServerResponse): Promise<unknown> {
    calls.push(params);
    response.on('close', () => {
      if (!response.writableEnded) dropped.push(params.name);
    });
    return tools.find(({ name }) => name === params.name)!.answer(params, response);
  }
}
