import { WebSocket } from 'ws';

export interface LivePageOptions {
  /** After this long without a word it is taken for gone. */
  silentMs: number;
  /** Unsent bytes beyond which nothing more is queued. */
  mostUnsent: number;
  /** What a page is sent that has fallen behind and is there again. */
  reset(): Buffer;
}

/** It has taken what it was sent, but for so little. */
const DRAINED = 64 * 1024;

/** One open page. It may read as slowly as it likes: no more than so much is ever kept for it. */
export class LivePage {
  private readonly socket: WebSocket;
  private readonly options: LivePageOptions;
  private readonly silence: NodeJS.Timeout;
  private isBehind = false;

  constructor(socket: WebSocket, options: LivePageOptions) {
    this.socket = socket;
    this.options = options;
    this.silence = setTimeout(() => socket.terminate(), options.silentMs).unref();
    socket.on('pong', () => this.silence.refresh());
    socket.on('message', () => this.silence.refresh());
    socket.on('close', () => clearTimeout(this.silence));
  }

  /** Every page can be given the same bytes: they are not copied. False: it was not taken, and this page will not hear it. */
  send(message: Buffer): boolean {
    const { socket, options } = this;
    if (this.isBehind || socket.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount > options.mostUnsent) {
      this.isBehind = true;
      return false;
    }
    socket.send(message, { binary: false }, () => this.onSent());
    return true;
  }

  beat(message: Buffer): void {
    if (this.isBehind) return;
    this.send(message);
    this.socket.ping();
  }

  private onSent(): void {
    if (!this.isBehind || this.socket.bufferedAmount > DRAINED) return;
    this.isBehind = false;
    this.send(this.options.reset());
  }
}
