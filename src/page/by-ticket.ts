import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { OWN_ONLY } from './page-headers.ts';
import type { PagePorts } from './page-ports.ts';
import { HttpProblem, problemOf } from './problem.ts';
import type { Errand, Tickets } from './tickets.ts';

export const TICKET_WRONG = new HttpProblem(401, 'TICKET_WRONG', 'This ticket is not good, or not any more', [
  'Ask for one with POST /api/ticket; it is good once, for 30 seconds.',
]);

/** Answers a browser that went to an address by itself. Throws TICKET_WRONG. */
export async function serveByTicket(
  request: IncomingMessage,
  response: ServerResponse,
  { ports, tickets, admit }: { ports: PagePorts; tickets: Tickets; admit: () => void },
): Promise<void> {
  const path = request.url!.split('?', 1)[0];
  try {
    if (path === '/api/live') throw new HttpProblem(426, 'INVALID_INPUT', '/api/live is a WebSocket');
    const errand = tickets.redeem(ticketOf(request), path === '/api/open' ? 'open' : 'download');
    if (!errand) throw TICKET_WRONG;
    admit();
    if (errand.purpose === 'download') await download(errand, response, ports);
    else open(errand, response, ports);
  } catch (thrown) {
    const { status, body } = problemOf(thrown, ports.errorOf);
    if (response.headersSent) return void response.destroy();
    response.writeHead(status, { ...OWN_ONLY, 'content-type': 'application/json', connection: 'close' });
    response.end(`${JSON.stringify(body)}\n`);
  }
}

export const ticketOf = ({ url }: IncomingMessage): string =>
  new URL(url!, 'http://localhost').searchParams.get('ticket') ?? '';

/** The whole file as it is now, however large: what is written meanwhile is not in it. */
async function download(
  { runId, turn, stream }: Extract<Errand, { purpose: 'download' }>,
  response: ServerResponse,
  { services: { files } }: PagePorts,
): Promise<void> {
  const key = { runId, number: turn };
  const size = await files.size(key, stream);
  response.writeHead(200, {
    ...OWN_ONLY,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': size,
    'content-disposition': `attachment; filename="${runId}-turn-${turn}-${stream}.txt"`,
    'cache-control': 'no-store',
  });
  if (size === 0) return void response.end();
  await pipeline(createReadStream(files.outputPath(key, stream), { end: size - 1 }), response);
}

/** `squad open` cannot give the token to a browser on its command line, where every user of the machine can read it. */
function open(
  { path }: Extract<Errand, { purpose: 'open' }>,
  response: ServerResponse,
  { userToken }: PagePorts,
): void {
  response.writeHead(303, {
    ...OWN_ONLY,
    location: `${path}#token=${userToken}`,
    'cache-control': 'no-store',
    'content-length': 0,
  });
  response.end();
}
