import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Handshake, Proof } from '../../src/link/handshake.ts';
import type { TestSquad } from '../support/squad.ts';

/** The hub's socket by hand: one hello, then lines as they are. */
export class SocketLine implements Disposable {
  readonly #socket;
  readonly #lines;

  private constructor(path: string) {
    this.#socket = connect(path);
    this.#socket.on('error', () => {}); // the hub may close the connection on bad input
    this.#lines = createInterface({ input: this.#socket })[Symbol.asyncIterator]();
  }

  static async open(squad: TestSquad, hello: Partial<Handshake> = {}): Promise<SocketLine> {
    const hub = JSON.parse(readFileSync(join(squad.home, 'hub.json'), 'utf8')) as { version: string };
    const line = new SocketLine(join(squad.home, 'hub.sock'));
    await once(line.#socket, 'connect');
    const whole: Handshake = {
      squad: 1,
      version: hub.version,
      view: 'control',
      pid: process.pid,
      cwd: squad.workspace,
      env: squad.env,
      ...hello,
    };
    const proof = new Proof();
    let reply = await line.ask(JSON.stringify(whole));
    if (reply !== null && proof.answers(JSON.parse(reply))) reply = await line.hear();
    proof.release();
    if (!reply?.includes('"ok":true')) throw new Error(`No handshake: ${reply}`);
    return line;
  }

  /** The next line that comes; null when there is none any more. */
  async ask(line: string): Promise<string | null> {
    return (await this.askAll([line]))[0] ?? null;
  }

  /** A line that nobody asked for; null when there is none any more. */
  async hear(): Promise<string | null> {
    const { value, done } = await this.#lines.next();
    return done ? null : (value as string);
  }

  /** As many lines as were said, in whatever order they come. */
  async askAll(lines: string[]): Promise<string[]> {
    this.#socket.write(lines.map(line => `${line}\n`).join(''));
    const replies: string[] = [];
    while (replies.length < lines.length) {
      const reply = await this.hear();
      if (reply === null) break;
      replies.push(reply);
    }
    return replies;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
