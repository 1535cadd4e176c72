import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { type LineReader, LineSplitter } from '../base/lines.ts';

/** Maximum number of bytes that are read in advance while there is no hub. */
const MAX_AHEAD = 1024 * 1024;
/** The hub refuses long lines itself; this limit only keeps them from filling the relay's memory. */
export const LINES = { maxBytes: 33 * 1024 * 1024, keepsNewline: true };

/** The client's side of the relay. Reads lines no faster than the hub accepts them. */
export class ClientEnd {
  /** True if the client has closed its input. It may still read. */
  hasEnded = false;
  /** Resolves when the client no longer reads. */
  readonly broken: Promise<void>;
  private readonly input: NodeJS.ReadableStream;
  private readonly output: Writable;
  private readonly lines: LineSplitter;
  private hub: Socket | null = null;
  private holdsBack = true;
  /** True if the client has not yet read the output that was unread when `letGo` was called. */
  private isBehind = false;
  private ahead = 0;
  private onInput = () => {};
  private onEnd = () => {};

  constructor(input: NodeJS.ReadableStream, output: Writable, reader: LineReader) {
    this.input = input;
    this.output = output;
    this.lines = new LineSplitter(LINES, reader);
    input.on('data', (chunk: Buffer) => afterPoll(() => this.take(chunk)));
    for (const event of ['end', 'close', 'error']) input.on(event, () => afterPoll(() => this.end()));
    this.broken = new Promise(settle => output.on('error', () => settle()));
    output.on('drain', () => this.hub?.resume());
  }

  /** Resolves when the client sends something or closes its input. */
  untilInput(): Promise<void> {
    return new Promise(settle => {
      this.onInput = settle;
      if (this.hasEnded) settle();
    });
  }

  /** Resolves when the client has closed its input. */
  untilEnded(): Promise<void> {
    return new Promise(settle => {
      this.onEnd = settle;
      if (this.hasEnded) settle();
    });
  }

  /** Sets the hub that gets the lines; with null they wait. */
  goesTo(hub: Socket | null): void {
    this.hub = hub;
    this.ahead = 0;
    this.input.resume();
    hub?.on('drain', () => this.input.resume());
  }

  /** A client that does not read slows the hub down instead of filling the relay's memory. */
  write(bytes: Buffer | string): void {
    if (!this.output.write(bytes) && this.holdsBack) this.hub?.pause();
  }

  /** Stops slowing the hub down for a client that does not read. A hub that is ending sends little more. */
  letGo(): void {
    this.holdsBack = false;
    this.hub?.resume();
    if (this.output.writableLength === 0) return;
    this.isBehind = true;
    this.output.write('', () => {
      this.isBehind = false;
    });
  }

  /**
   * Resolves when the client has read everything, cannot read any more, or has not even read the output from before
   * `letGo`.
   */
  async untilRead(): Promise<void> {
    if (!this.isBehind)
      await Promise.race([this.broken, new Promise<void>(settle => this.output.write('', () => settle()))]);
  }

  /** Ignores all further input of the client. */
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

/**
 * If the hub died before the client wrote, the relay must notice that before it forwards the line. The first immediate
 * runs before the event loop polls for events again, the second one after.
 */
const afterPoll = (act: () => void): void => void setImmediate(() => setImmediate(act));
