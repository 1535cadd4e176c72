import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { HttpProblem, problemOf, readBody } from './http-problem.ts';
import type { WebPorts } from './ports.ts';
import { type Errand, named, type Tickets } from './tickets.ts';

export const TICKET_WRONG = new HttpProblem(401, 'TICKET_WRONG', 'Invalid or expired ticket', [
  'Get a new ticket with POST /api/ticket. It works once, within 30 seconds.',
]);

interface Parts {
  ports: WebPorts;
  tickets: Tickets;
  login: LoginHandler;
  admit: () => void;
}

/** Serves the few paths that accept a ticket or a key instead of a token, or need neither. */
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
      // The header is sent before the web UI stores anything. Data that is already stored for this origin was left by
      // another program.
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
  ports: WebPorts,
): Promise<void> {
  const { files, store } = ports.services;
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': `attachment; filename="${runId}-turn-${turn}-${stream}.txt"`,
  };
  if (await store.otherOwner(runId)) {
    const pages = pagesOf(ports, { run: runId, turn, stream });
    const { value: first } = await pages.next();
    response.writeHead(200, headers);
    return pipeline(async function* () {
      yield first ?? '';
      yield* pages;
    }, response);
  }
  const file = await files.openOutput({ runId, number: turn }, stream);
  if (file === 'linked')
    throw new HttpProblem(
      403,
      'PERMISSION_DENIED',
      `The ${stream} of turn ${turn} of ${runId} is a link or not a regular file of the run, so it is not sent`,
      ['Check the folder of the run on disk: something replaced the file.'],
    );
  const size = file === 'absent' ? 0 : (await file.stat()).size;
  response.writeHead(200, { ...headers, 'content-length': size });
  if (file === 'absent') return void response.end();
  // createReadStream() does not accept -1 as the end of an empty file.
  if (size === 0) return void file.close().then(() => response.end());
  await pipeline(file.createReadStream({ end: size - 1 }), response);
}

interface OutputPage {
  text: string;
  nextOffset: number;
  size: number;
  isOver: boolean;
  lastTurn: number;
}

/** A page of an output, also of a run of another hub. */
export const readPage = async (ports: WebPorts, input: object): Promise<OutputPage> =>
  (await ports.dispatch(named(ports.operations, 'read_output'), input, {
    services: ports.services,
    caller: { client: 'page', cwd: null, workspace: null, env: {}, parent: null },
    ...{ signal: new AbortController().signal, waitMs: 0 },
    progress: async () => {},
    emit: () => {},
  })) as OutputPage;

/** The output of a run of another hub, up to its size at the beginning. */
async function* pagesOf(ports: WebPorts, input: object): AsyncGenerator<string> {
  let end = Number.POSITIVE_INFINITY;
  for (let offset = 0; offset < end; ) {
    const { text, nextOffset, size } = await readPage(ports, { ...input, offset });
    end = Math.min(end, size);
    if (text !== '') yield text;
    if (nextOffset <= offset) return;
    offset = nextOffset;
  }
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

type Ports = Pick<WebPorts, 'sessions' | 'isOwnPeer' | 'log'>;

const MAX_KEY_BODY_LENGTH = 1024;
const NONCE = /^[\w-]{16,128}$/;

const KEY_WRONG = new HttpProblem(401, 'TICKET_WRONG', 'Invalid or expired key', [
  'Run `squad open` for a new one. Each key works once, within 10 minutes.',
]);

const SESSION_OVER = new HttpProblem(401, 'SESSION_OVER', 'This session has ended', [
  'Run `squad open` to start a new one.',
]);

/** Requests of a web UI that has no session yet, or has not verified the hub yet. */
export class LoginHandler {
  private readonly ports: Ports;
  private readonly tickets: Tickets;
  private readonly reported = new WeakSet<Errand>();

  constructor(ports: Ports, tickets: Tickets) {
    this.ports = ports;
    this.tickets = tickets;
  }

  /** Opens a session for a key of `squad open`. Other users can see the key on a command line, so only connections of the same user are accepted. */
  async session(request: IncomingMessage): Promise<{ token: string; isFirst: boolean }> {
    const host = request.headers.host!;
    const key = await keyIn(request);
    const errand = this.tickets.find(key, 'open');
    if (errand?.host !== host) throw KEY_WRONG;
    if (!(await this.ports.isOwnPeer(request.socket))) {
      if (!this.reported.has(errand))
        this.ports.log('warning', 'Another user of this machine tried to use a key for the web UI', null);
      this.reported.add(errand);
      throw new HttpProblem(403, 'NOT_ALLOWED', 'This key is for another user of this machine');
    }
    // Another request may have used the key during the `await` above.
    if (!this.tickets.redeem(key, 'open')) throw KEY_WRONG;
    return this.ports.sessions.open(host);
  }

  /** Proves to a web UI that this is the hub of its session: another program may have taken over the port. */
  proof({ url, headers }: IncomingMessage): { proof: string } {
    const query = new URL(url!, 'http://localhost').searchParams;
    const nonce = query.get('nonce') ?? '';
    if (!NONCE.test(nonce))
      throw new HttpProblem(400, 'INVALID_INPUT', 'nonce must be 16 to 128 letters, digits, - or _');
    const proof = this.ports.sessions.proof(query.get('session') ?? '', nonce, headers.host!);
    if (proof === null) throw SESSION_OVER;
    return { proof };
  }
}

/** A malformed body is treated as a wrong key. */
async function keyIn(request: IncomingMessage): Promise<string> {
  const body = await readBody(request, MAX_KEY_BODY_LENGTH).catch((thrown: HttpProblem) => {
    throw thrown.status === 413 ? thrown : KEY_WRONG;
  });
  return typeof body.key === 'string' && Object.keys(body).length === 1 ? body.key : '';
}
