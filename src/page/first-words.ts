import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { PagePorts } from './page-ports.ts';
import { HttpProblem } from './problem.ts';
import { readBody } from './read-body.ts';
import type { Errand, Tickets } from './tickets.ts';

type Ports = Pick<PagePorts, 'userToken' | 'isOwnPeer' | 'log'>;

const LONGEST_KEY_BODY = 1024;
const NONCE = /^[\w-]{16,128}$/;

const KEY_WRONG = new HttpProblem(401, 'TICKET_WRONG', 'This key is not good, or not any more', [
  '`squad open` gives another; each is good once, for 10 minutes.',
]);

/** What a page and the hub say to each other before the page has a token, or shows it. */
export class FirstWords {
  private readonly ports: Ports;
  private readonly tickets: Tickets;
  private readonly reported = new WeakSet<Errand>();

  constructor(ports: Ports, tickets: Tickets) {
    this.ports = ports;
    this.tickets = tickets;
  }

  /** The token for a key of `squad open`, which other users may have seen on a command line: it is theirs to see, not to use. */
  async session(request: IncomingMessage): Promise<{ token: string }> {
    const key = await keyIn(request);
    const errand = this.tickets.find(key, 'open');
    if (!errand) throw KEY_WRONG;
    if (!(await this.ports.isOwnPeer(request.socket))) {
      if (!this.reported.has(errand))
        this.ports.log('warning', 'Another user of this machine showed a key to the page', null);
      this.reported.add(errand);
      throw new HttpProblem(403, 'NOT_ALLOWED', 'This key is for another user of this machine');
    }
    // Meanwhile somebody may have been quicker.
    if (!this.tickets.redeem(key, 'open')) throw KEY_WRONG;
    return { token: this.ports.userToken };
  }

  /**
   * Shows a page that we are the hub it knows, without either showing the token: on a port that was ours somebody else may answer.
   * The address is part of it, so that nobody can have us answer in their place; at another name of ours somebody else may listen.
   */
  proof({ url, headers }: IncomingMessage): { proof: string } {
    const nonce = new URL(url!, 'http://localhost').searchParams.get('nonce') ?? '';
    if (!NONCE.test(nonce))
      throw new HttpProblem(400, 'INVALID_INPUT', 'nonce is 16 to 128 letters, digits, - or _');
    const host = headers.host!;
    if (!host.startsWith('127.0.0.1:')) throw new HttpProblem(403, 'HOST_REFUSED', 'Ask at 127.0.0.1');
    return { proof: createHmac('sha256', this.ports.userToken).update(`${nonce} ${host}`).digest('hex') };
  }
}

/** What is no key at all is a wrong one. */
async function keyIn(request: IncomingMessage): Promise<string> {
  const body = await readBody(request, LONGEST_KEY_BODY).catch((thrown: HttpProblem) => {
    throw thrown.status === 413 ? thrown : KEY_WRONG;
  });
  return typeof body.key === 'string' && Object.keys(body).length === 1 ? body.key : '';
}
