import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { HttpProblem, problemOf } from './http-problem.ts';
import type { LoginHandler } from './login.ts';
import type { PagePorts } from './ports.ts';
import { type Errand, named, type Tickets } from './tickets.ts';

export const TICKET_WRONG = new HttpProblem(401, 'TICKET_WRONG', 'Invalid or expired ticket', [
  'Get one with POST /api/ticket. It works once, within 30 seconds.',
]);

interface Parts {
  ports: PagePorts;
  tickets: Tickets;
  words: LoginHandler;
  admit: () => void;
}

/** Answers whoever shows no token, at one of the few places where none is needed. */
export async function serveByTicket(
  request: IncomingMessage,
  response: ServerResponse,
  { ports, tickets, words, admit }: Parts,
): Promise<void> {
  const path = request.url!.split('?', 1)[0];
  try {
    if (path === '/api/live') throw new HttpProblem(426, 'INVALID_INPUT', '/api/live is a WebSocket');
    if (path === '/api/session') {
      const { token, isFirst } = await words.session(request);
      // Before the page stores anything: whatever is there was left by somebody else.
      if (isFirst) response.setHeader('clear-site-data', '"storage"');
      return sendJson(response, 200, { token });
    }
    if (path === '/api/proof') return sendJson(response, 200, words.proof(request));
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

/** The whole file as it is now, however large; bytes written meanwhile are not included. */
async function download(
  { runId, turn, stream }: Extract<Errand, { purpose: 'download' }>,
  response: ServerResponse,
  { services: { files } }: PagePorts,
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
  // A stream to byte -1 cannot be asked for.
  if (size === 0) return void file.close().then(() => response.end());
  await pipeline(file.createReadStream({ end: size - 1 }), response);
}

/** As it is now. An attachment: opened here it would be a page of ours, with a script of its own. */
async function sendSaved(
  { runId, caller }: Extract<Errand, { purpose: 'export' }>,
  response: ServerResponse,
  ports: PagePorts,
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
