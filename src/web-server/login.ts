import type { IncomingMessage } from 'node:http';
import { HttpProblem, readBody } from './http-problem.ts';
import type { WebPorts } from './ports.ts';
import type { Errand, Tickets } from './tickets.ts';

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
    // The key may have been used during the await above.
    if (!this.tickets.redeem(key, 'open')) throw KEY_WRONG;
    return this.ports.sessions.open(host);
  }

  /** Proves to a web UI that this is the hub of its session: another program may have taken over the port. */
  proof({ url, headers }: IncomingMessage): { proof: string } {
    const query = new URL(url!, 'http://localhost').searchParams;
    const nonce = query.get('nonce') ?? '';
    if (!NONCE.test(nonce))
      throw new HttpProblem(400, 'INVALID_INPUT', 'nonce is 16 to 128 letters, digits, - or _');
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
