import { once } from 'node:events';
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { completable, createMcpHandler, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const NAMES = ['ada', 'alan', 'grace'];

/** A server as most are made: with the official SDK, of both eras. Over stdio, or with `--http PORT`, its address on standard output. */
const [option, port] = process.argv.slice(2);
if (option === '--http') {
  const handle = toNodeHandler(createMcpHandler(sdkEcho));
  const server = createServer((request, response) => void handle(request, response));
  server.listen(Number(port), '127.0.0.1');
  await once(server, 'listening');
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`);
} else {
  serveStdio(sdkEcho);
}

function sdkEcho(): McpServer {
  const server = new McpServer({ name: 'sdk-echo', version: '1.0.0' });
  server.registerTool(
    'echo',
    {
      description: 'Says the nonce again.',
      inputSchema: z.object({ nonce: z.string() }),
      annotations: { readOnlyHint: true },
    },
    async ({ nonce }) => ({ content: [{ type: 'text', text: nonce }] }),
  );
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    async ({ a, b }) => {
      const structuredContent = { sum: a + b };
      return { structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
    },
  );
  server.registerResource('welcome', 'note://welcome', { mimeType: 'text/plain' }, async uri => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Welcome.' }],
  }));
  server.registerResource(
    'note',
    new ResourceTemplate('note://{name}', {
      list: undefined,
      complete: { name: value => NAMES.filter(name => name.startsWith(value)) },
    }),
    { mimeType: 'text/plain' },
    async uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `The note ${uri.host}.` }] }),
  );
  server.registerPrompt(
    'greet',
    {
      description: 'Says hello.',
      argsSchema: z.object({
        name: completable(z.string(), value => NAMES.filter(name => name.startsWith(value))),
      }),
    },
    async ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }],
    }),
  );
  return server;
}
