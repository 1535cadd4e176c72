import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { type LineReader, LineSplitter } from '../base/lines.ts';

/** What may be read ahead while there is no hub to give it to. */
const MAX_AHEAD = 1024 * 1024;
/** The hub refuses longer lines itself; here they only must not pile up in memory. */
export const LINES = { maxBytes: 33 * 1024 * 1024, keepsNewline: true };

/** The client's side of the relay: its lines as they come, no faster than they can be passed on. */
export class ClientEnd {
  /** It says nothing more, but may still read. */
  hasEnded = false;
  /** It does not even read any more. */
  readonly broken: Promise<void>;
  private readonly input: NodeJS.ReadableStream;
  private readonly output: Writable;
  private readonly lines: LineSplitter;
  private hub: Socket | null = null;
  private holdsBack = true;
  /** It was let go with something left to read, and has not read that since. */
  private isBehind = false;
  private ahead = 0;
  private onHeard = () => {};
  private onEnd = () => {};

  constructor(input: NodeJS.ReadableStream, output: Writable, reader: LineReader) {
    this.input = input;
    this.output = output;
    this.lines = new LineSplitter(LINES, reader);
    // A moment later: a hub that died before the client spoke must have been missed before its words are passed on.
    input.on('data', (chunk: Buffer) => setImmediate(() => this.take(chunk)));
    for (const event of ['end', 'close', 'error']) input.on(event, () => setImmediate(() => this.end()));
    this.broken = new Promise(settle => output.on('error', () => settle()));
    output.on('drain', () => this.hub?.resume());
  }

  /** Settles when the client says something, or will not any more. */
  untilHeard(): Promise<void> {
    return new Promise(settle => {
      this.onHeard = settle;
      if (this.hasEnded) settle();
    });
  }

  /** Settles when the client has said its last word. */
  untilEnded(): Promise<void> {
    return new Promise(settle => {
      this.onEnd = settle;
      if (this.hasEnded) settle();
    });
  }

  /** Whom its lines go to; with null they have to wait. */
  goesTo(hub: Socket | null): void {
    this.hub = hub;
    this.ahead = 0;
    this.input.resume();
    hub?.on('drain', () => this.input.resume());
  }

  /** A client that does not read holds back the hub, not our memory. */
  write(bytes: Buffer | string): void {
    if (!this.output.write(bytes) && this.holdsBack) this.hub?.pause();
  }

  /** From here on whether it reads holds nobody back: a hub that is on its way out has little left to say. */
  letGo(): void {
    this.holdsBack = false;
    this.hub?.resume();
    if (this.output.writableLength === 0) return;
    this.isBehind = true;
    this.output.write('', () => {
      this.isBehind = false;
    });
  }

  /** Settles when it has read everything, or cannot any more, or did not even read what was there when it was let go. */
  async untilRead(): Promise<void> {
    if (!this.isBehind)
      await Promise.race([this.broken, new Promise<void>(settle => this.output.write('', () => settle()))]);
  }

  /** From here on it is not listened to. */
  end(): void {
    this.hasEnded = true;
    this.onHeard();
    this.onEnd();
  }

  private take(chunk: Buffer): void {
    if (this.hasEnded) return;
    this.lines.push(chunk);
    if (!this.hub) this.ahead += chunk.length;
    if (this.hub ? this.hub.writableNeedDrain : this.ahead > MAX_AHEAD) this.input.pause();
    this.onHeard();
  }
}
