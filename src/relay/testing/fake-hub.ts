import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Bye } from '../../link/handshake.ts';
import { ownFolder, socketPath } from '../../link/home.ts';

export interface Heard {
  id?: number | string;
  method?: string;
  squad?: number;
}

/** Answer of the fake hub to a handshake. */
type Answers = 'a handshake' | 'a closed door' | 'a refusal' | 'nothing';

interface HubGiven {
  answers?: Answers;
  /** True if the hub keeps a connection open after the client has closed its side. */
  staysOpen?: boolean;
}

/** A hub that a test controls. It sends only what the test tells it to send, and can disappear at any moment. */
export class FakeHub {
  /** Every received line of every connection, in order, including handshakes. */
  readonly heard: Heard[] = [];
  private readonly sockets: Socket[] = [];
  private readonly server = createServer({ allowHalfOpen: true }, socket => this.take(socket));
  private readonly path: string;
  private readonly answers: Answers;
  private readonly staysOpen: boolean;
  /** Number of received bytes, also of lines without an end. */
  bytes = 0;
  /** Number of clients that have closed their side of the connection. */
  halfClosed = 0;

  private constructor(home: string, { answers = 'a handshake', staysOpen = false }: HubGiven) {
    this.path = socketPath(home);
    this.answers = answers;
    this.staysOpen = staysOpen;
  }

  static async at(home: string, given: HubGiven = {}): Promise<FakeHub> {
    ownFolder(home);
    const hub = new FakeHub(home, given);
    rmSync(hub.path, { force: true });
    await new Promise<void>(settle => hub.server.listen(hub.path, settle));
    return hub;
  }

  get connections(): number {
    return this.heard.filter(({ squad }) => squad === 1).length;
  }

  /** Requests that the hub received, without handshakes. */
  get asked(): Heard[] {
    return this.heard.filter(({ squad }) => squad === undefined);
  }

  send(words: object): void {
    for (const socket of this.sockets) if (socket.writable) socket.write(`${JSON.stringify(words)}\n`);
  }

  answer(id: number | string): void {
    this.send({ jsonrpc: '2.0', id, result: { from: 'hub' } });
  }

  /**
   * Ends the hub. With `bye` the hub announces its end. Without it the connections break as if the hub had been killed.
   */
  async end(bye?: Omit<Bye, 'squad'>): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise(settle => this.server.close(settle));
    for (const socket of this.sockets)
      if (bye) socket.end(`${JSON.stringify({ squad: 1, ...bye })}\n`, () => socket.destroy());
      else socket.destroy();
    await closed;
  }

  private take(socket: Socket): void {
    this.sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', chunk => {
      this.bytes += chunk.length;
    });
    const lines = createInterface({ input: socket });
    lines.on('error', () => {});
    lines.on('line', line => {
      const words = JSON.parse(line) as Heard;
      this.heard.push(words);
      if (words.squad === undefined) return;
      if (this.answers === 'a closed door') socket.destroy();
      if (this.answers === 'a refusal') {
        const error = { code: 'CONFIG_INVALID', kind: 'usage', message: 'No.' };
        socket.end(`${JSON.stringify({ squad: 1, ok: false, error })}\n`);
      }
      if (this.answers === 'a handshake')
        socket.write(`${JSON.stringify({ squad: 1, ok: true, version: '1.0.0', pid: 1 })}\n`);
    });
    socket.on('end', () => {
      this.halfClosed++;
      if (!this.staysOpen) socket.end();
    });
  }
}
