import type { Writable } from 'node:stream';

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
    if (!this.canWrite) {
      return Promise.reject(Object.assign(new Error('The client is gone'), { code: 'CLIENT_GONE' }));
    }
    if (this.#output.write(asLine(message))) return Promise.resolve();
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

/** Readers that cut lines by Unicode's rules (Node's readline does) would cut at these two, inside a string. */
function asLine(message: unknown): string {
  const json = JSON.stringify(message).replace(/[\u2028\u2029]/g, separator =>
    separator === '\u2028' ? '\\u2028' : '\\u2029',
  );
  return `${json}\n`;
}
