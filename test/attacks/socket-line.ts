import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Hello } from '../../src/link/hello.ts';
import type { TestSquad } from '../support/squad.ts';

/** The hub's socket by hand: one hello, then lines as they are. */
export class SocketLine implements Disposable {
  readonly #socket;
  readonly #lines;

  private constructor(path: string) {
    this.#socket = connect(path);
    this.#socket.on('error', () => {}); // a hub may close at what it was told
    this.#lines = createInterface({ input: this.#socket })[Symbol.asyncIterator]();
  }

  static async open(squad: TestSquad, hello: Partial<Hello> = {}): Promise<SocketLine> {
    const hub = JSON.parse(readFileSync(join(squad.home, 'hub.json'), 'utf8')) as { version: string };
    const line = new SocketLine(join(squad.home, 'hub.sock'));
    await once(line.#socket, 'connect');
    const whole: Hello = {
      squad: 1,
      version: hub.version,
      view: 'control',
      pid: process.pid,
      cwd: squad.workspace,
      env: squad.env,
      hub: { node: process.execPath, script: '' },
      ...hello,
    };
    const reply = await line.ask(JSON.stringify(whole));
    if (!reply?.includes('"ok":true')) throw new Error(`No greeting: ${reply}`);
    return line;
  }

  /** The next line that comes; null when there is none any more. */
  async ask(line: string): Promise<string | null> {
    return (await this.askAll([line]))[0] ?? null;
  }

  /** As many lines as were said, in whatever order they come. */
  async askAll(lines: string[]): Promise<string[]> {
    this.#socket.write(lines.map(line => `${line}\n`).join(''));
    const replies: string[] = [];
    while (replies.length < lines.length) {
      const { value, done } = await this.#lines.next();
      if (done) break;
      replies.push(value as string);
    }
    return replies;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
