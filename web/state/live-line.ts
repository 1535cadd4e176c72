import { backOffMs, withJitter } from '../../src/base/back-off.ts';
import type { ClientMessage, LiveMessage } from '../../src/schema/live.ts';
import { SILENT_MS } from '../../src/schema/web-ui.ts';

/** Number of failed attempts after which the hub counts as gone. A restarting hub is back sooner. */
const FAILURES_UNTIL_OFFLINE = 6;
const RECONNECT_DELAY_MS = { first: 250, max: 5_000 };
const GOING_AWAY = 1001;

export interface LineOptions {
  /** Returns the address for a new connection, with a new ticket. */
  address(): Promise<string>;
  onMessage(message: LiveMessage): void;
  /** Called when the connection breaks. `isLeft` is true if the hub announced that it is stopping. */
  onBroken(state: 'reconnecting' | 'offline', isLeft: boolean): void;
}

/** One WebSocket that reconnects with back-off, and at once when the browser is online or visible again. */
export class LiveLine {
  #socket: WebSocket | null = null;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOpening = false;
  #isStopped = true;
  readonly #options: LineOptions;

  constructor(options: LineOptions) {
    this.#options = options;
    addEventListener('online', () => this.#hope());
    document.addEventListener('visibilitychange', () => document.hidden || this.#hope());
  }

  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#failures = 0;
    void this.#open();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#drop();
  }

  send(message: ClientMessage): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  async #open(): Promise<void> {
    if (this.#isOpening || this.#socket || this.#isStopped) return;
    this.#isOpening = true;
    clearTimeout(this.#timer);
    try {
      const address = await this.#options.address();
      if (!this.#isStopped) this.#listen(new WebSocket(address));
    } catch {
      // Retry after any error; an unknown token stops the connection from outside.
      this.#broken();
    } finally {
      this.#isOpening = false;
    }
  }

  #listen(socket: WebSocket): void {
    this.#socket = socket;
    this.#expectSign(socket);
    socket.onmessage = ({ data }) => {
      if (this.#socket !== socket) return;
      this.#expectSign(socket);
      const message = JSON.parse(data) as LiveMessage;
      if (message.type === 'hello') this.#failures = 0;
      this.#options.onMessage(message);
    };
    socket.onclose = ({ code }) => {
      if (this.#socket === socket) this.#broken(code === GOING_AWAY);
    };
  }

  #expectSign(socket: WebSocket): void {
    clearTimeout(this.#timer);
    // Closing a dead connection may take minutes, so do not wait for it.
    this.#timer = setTimeout(() => this.#socket === socket && this.#broken(), SILENT_MS);
  }

  #broken(isLeft = false): void {
    this.#drop();
    if (this.#isStopped) return;
    const wait = withJitter(backOffMs(this.#failures++, RECONNECT_DELAY_MS));
    this.#options.onBroken(this.#failures > FAILURES_UNTIL_OFFLINE ? 'offline' : 'reconnecting', isLeft);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#open(), wait);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #hope(): void {
    if (this.#socket === null) void this.#open();
  }
}
