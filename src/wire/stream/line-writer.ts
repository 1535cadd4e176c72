import type { Writable } from 'node:stream';

/** Sends all writes of one turn of the event loop together: a system call costs more than formatting a message. */
export function gatherWrites(output: Writable): void {
  if (output.writableCorked > 0) return;
  output.cork();
  setImmediate(() => output.uncork());
}

const FLUSH_MS = 1000;

/** Writes one message a line, and tells when the reader has fallen too far behind. */
export class LineWriter {
  readonly #output: Writable;
  readonly #waiting = new Set<() => void>();
  #ended = false;

  constructor(output: Writable) {
    this.#output = output;
    output.on('drain', () => this.#wake());
  }

  get unreadBytes(): number {
    return this.#output.writableLength;
  }

  get canWrite(): boolean {
    return !this.#ended && this.#output.writable;
  }

  /** Settles when there is room for the next one; rejects when nobody is left to read it. */
  write(message: unknown): Promise<void> {
    return this.writeText(JSON.stringify(message));
  }

  /** The same for a message that is JSON already. */
  writeText(json: string): Promise<void> {
    if (!this.canWrite) {
      return Promise.reject(Object.assign(new Error('The client is gone'), { code: 'CLIENT_GONE' }));
    }
    gatherWrites(this.#output);
    if (this.#output.write(lineOf(json))) return Promise.resolve();
    return new Promise(resolve => this.#waiting.add(resolve));
  }

  /** Settles when everything written was handed over, or the reader would not take it. */
  end(): Promise<void> {
    this.#ended = true;
    this.#wake();
    return new Promise(resolve => {
      const finish = () => {
        clearTimeout(timer);
        this.#output.destroy();
        resolve();
      };
      // A reader that has stopped reading would keep us waiting for ever.
      const timer = setTimeout(finish, FLUSH_MS).unref();
      if (this.#output.destroyed) finish();
      else this.#output.end(finish);
    });
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** One message as a line. */
export const asLine = (message: unknown): string => lineOf(JSON.stringify(message));

/** Readers that cut lines by Unicode's rules (Node's readline does) would cut at these two, inside a string. */
function lineOf(json: string): string {
  const safe = json.replace(/[\u2028\u2029]/g, separator => (separator === '\u2028' ? '\\u2028' : '\\u2029'));
  return `${safe}\n`;
}
