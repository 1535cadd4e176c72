import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { type LineReader, LineSplitter } from '../base/lines.ts';

/** Bytes that are read ahead while there is no hub. */
const MAX_AHEAD = 1024 * 1024;
/** The hub refuses longer lines itself; here they only must not pile up in memory. */
export const LINES = { maxBytes: 33 * 1024 * 1024, keepsNewline: true };

/** The client's side of the relay. Reads lines no faster than they can be passed on. */
export class ClientEnd {
  /** The client has closed its input, but may still read. */
  hasEnded = false;
  /** Settles when the client does not read any more. */
  readonly broken: Promise<void>;
  private readonly input: NodeJS.ReadableStream;
  private readonly output: Writable;
  private readonly lines: LineSplitter;
  private hub: Socket | null = null;
  private holdsBack = true;
  /** The client has not yet read what was unread when it was let go. */
  private isBehind = false;
  private ahead = 0;
  private onInput = () => {};
  private onEnd = () => {};

  constructor(input: NodeJS.ReadableStream, output: Writable, reader: LineReader) {
    this.input = input;
    this.output = output;
    this.lines = new LineSplitter(LINES, reader);
    // A moment later: if the hub died before the client wrote, the relay must notice that before it passes the line on.
    input.on('data', (chunk: Buffer) => setImmediate(() => this.take(chunk)));
    for (const event of ['end', 'close', 'error']) input.on(event, () => setImmediate(() => this.end()));
    this.broken = new Promise(settle => output.on('error', () => settle()));
    output.on('drain', () => this.hub?.resume());
  }

  /** Settles when the client sends something or closes its input. */
  untilInput(): Promise<void> {
    return new Promise(settle => {
      this.onInput = settle;
      if (this.hasEnded) settle();
    });
  }

  /** Settles when the client has closed its input. */
  untilEnded(): Promise<void> {
    return new Promise(settle => {
      this.onEnd = settle;
      if (this.hasEnded) settle();
    });
  }

  /** Where lines go; with null they wait. */
  goesTo(hub: Socket | null): void {
    this.hub = hub;
    this.ahead = 0;
    this.input.resume();
    hub?.on('drain', () => this.input.resume());
  }

  /** A client that does not read slows the hub down instead of filling our memory. */
  write(bytes: Buffer | string): void {
    if (!this.output.write(bytes) && this.holdsBack) this.hub?.pause();
  }

  /** From now on a client that does not read slows nobody down: a hub that is ending sends little more. */
  letGo(): void {
    this.holdsBack = false;
    this.hub?.resume();
    if (this.output.writableLength === 0) return;
    this.isBehind = true;
    this.output.write('', () => {
      this.isBehind = false;
    });
  }

  /** Settles when the client has read everything, cannot read any more, or has not even read what was there when it was let go. */
  async untilRead(): Promise<void> {
    if (!this.isBehind)
      await Promise.race([this.broken, new Promise<void>(settle => this.output.write('', () => settle()))]);
  }

  /** From now on input of the client is ignored. */
  end(): void {
    this.hasEnded = true;
    this.onInput();
    this.onEnd();
  }

  private take(chunk: Buffer): void {
    if (this.hasEnded) return;
    this.lines.push(chunk);
    if (!this.hub) this.ahead += chunk.length;
    if (this.hub ? this.hub.writableNeedDrain : this.ahead > MAX_AHEAD) this.input.pause();
    this.onInput();
  }
}
