import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';
import type { Message } from './message.ts';

/**
 * The transport of revision 2024-11-05: a stream of events that begins with where to post, and answers to what was posted
 * come over the stream.
 */
export function serveSse(open: (send: (message: object) => void) => (message: Message) => void): Server {
  const sessions = new Map<string, (message: Message) => void>();
  return createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (request.method === 'GET' && url.pathname === '/sse') {
      const id = randomUUID();
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(`event: endpoint\ndata: /messages?session=${id}\n\n`);
      sessions.set(
        id,
        open(message => response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)),
      );
      response.once('close', () => sessions.delete(id));
    } else if (request.method === 'POST' && url.pathname === '/messages') {
      const take = sessions.get(url.searchParams.get('session') ?? '');
      const body = await bodyOf(request);
      response.writeHead(take ? 202 : 404).end();
      take?.(JSON.parse(body) as Message);
    } else {
      response.writeHead(404).end();
    }
  });
}
