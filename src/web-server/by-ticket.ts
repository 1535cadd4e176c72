import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { HttpProblem, problemOf } from './http-problem.ts';
import type { LoginHandler } from './login.ts';
import type { WebPorts } from './ports.ts';
import { type Errand, named, type Tickets } from './tickets.ts';

export const TICKET_WRONG = new HttpProblem(401, 'TICKET_WRONG', 'Invalid or expired ticket', [
  'Get one with POST /api/ticket. It works once, within 30 seconds.',
]);

interface Parts {
  ports: WebPorts;
  tickets: Tickets;
  login: LoginHandler;
  admit: () => void;
}

/** Serves the few paths that need a ticket, a key or nothing at all instead of a token. */
export async function serveByTicket(
  request: IncomingMessage,
  response: ServerResponse,
  { ports, tickets, login, admit }: Parts,
): Promise<void> {
  const path = request.url!.split('?', 1)[0];
  try {
    if (path === '/api/live') throw new HttpProblem(426, 'INVALID_INPUT', '/api/live is a WebSocket');
    if (path === '/api/session') {
      const { token, isFirst } = await login.session(request);
      // Sent before the web UI stores anything: stored data of this origin was left by another program.
      if (isFirst) response.setHeader('clear-site-data', '"storage"');
      return sendJson(response, 200, { token });
    }
    if (path === '/api/proof') return sendJson(response, 200, login.proof(request));
    const errand = tickets.redeem(ticketOf(request), 'download', 'export');
    if (!errand) throw TICKET_WRONG;
    admit();
    if (errand.purpose === 'export') await sendSaved(errand, response, ports);
    else await download(errand, response, ports);
  } catch (thrown) {
    if (response.headersSent) return void response.destroy();
    const { status, body } = problemOf(thrown, ports.errorOf);
    if (status === 500) ports.log('error', 'A bug in the web server', thrown);
    response.setHeader('connection', 'close');
    sendJson(response, status, body);
  }
}

export const ticketOf = ({ url }: IncomingMessage): string =>
  new URL(url!, 'http://localhost').searchParams.get('ticket') ?? '';

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}

/** Sends the whole file at its current size; bytes written during the download are not included. */
async function download(
  { runId, turn, stream }: Extract<Errand, { purpose: 'download' }>,
  response: ServerResponse,
  { services: { files } }: WebPorts,
): Promise<void> {
  const file = await files.openOutput({ runId, number: turn }, stream);
  if (file === 'linked')
    throw new HttpProblem(
      403,
      'PERMISSION_DENIED',
      `The ${stream} of turn ${turn} of ${runId} is a link or not a regular file of the run, so it is not sent`,
      ['Check the folder of the run on disk: something replaced the file.'],
    );
  const size = file === 'absent' ? 0 : (await file.stat()).size;
  response.writeHead(200, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': size,
    'content-disposition': `attachment; filename="${runId}-turn-${turn}-${stream}.txt"`,
  });
  if (file === 'absent') return void response.end();
  // createReadStream() does not accept -1 as the end of an empty file.
  if (size === 0) return void file.close().then(() => response.end());
  await pipeline(file.createReadStream({ end: size - 1 }), response);
}

/** Sends the saved run as an attachment: opened at this origin, its script would run as the web UI. */
async function sendSaved(
  { runId, caller }: Extract<Errand, { purpose: 'export' }>,
  response: ServerResponse,
  ports: WebPorts,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  ports.onInFlight(1);
  try {
    const data = await ports.dispatch(
      named(ports.operations, 'export_run'),
      { run: runId },
      {
        ...{ services: ports.services, caller, signal: gone.signal, waitMs: 0 },
        progress: async () => {},
        emit: () => {},
      },
    );
    const { name, page } = await ports.savedRun(data);
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(page),
      'content-disposition': `attachment; filename="${name}"`,
    });
    await pipeline([page], response);
  } finally {
    ports.onInFlight(-1);
  }
}
