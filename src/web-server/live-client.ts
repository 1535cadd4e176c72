import { WebSocket } from 'ws';

export interface LiveClientOptions {
  /** The connection is closed after this long without a message or pong. */
  silentMs: number;
  /** Nothing more is queued above this many unsent bytes. */
  maxUnsentBytes: number;
  /** Message for a client that had fallen behind and has caught up. */
  reset(): Buffer;
}

/** A client has caught up when no more than this is unsent. */
const DRAINED_BYTES = 64 * 1024;

/** One open web UI. A slow reader costs a bounded amount of memory: messages above the limit are dropped, and a reset follows. */
export class LiveClient {
  private readonly socket: WebSocket;
  private readonly options: LiveClientOptions;
  private readonly silence: NodeJS.Timeout;
  private isBehind = false;

  constructor(socket: WebSocket, options: LiveClientOptions) {
    this.socket = socket;
    this.options = options;
    this.silence = setTimeout(() => socket.terminate(), options.silentMs).unref();
    socket.on('pong', () => this.silence.refresh());
    socket.on('message', () => this.silence.refresh());
    socket.on('close', () => clearTimeout(this.silence));
  }

  /** All clients share the same buffer; it is not copied. Returns false when the message was dropped. */
  send(message: Buffer): boolean {
    const { socket, options } = this;
    if (this.isBehind || socket.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount > options.maxUnsentBytes) {
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
    if (!this.isBehind || this.socket.bufferedAmount > DRAINED_BYTES) return;
    this.isBehind = false;
    this.send(this.options.reset());
  }
}
