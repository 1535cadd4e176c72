import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';
import { edgesOfLongLine, LineSplitter } from '../../base/lines.ts';
import {
  type DirectAnswer,
  type DirectCall,
  joinTexts,
  type PlainRequest,
  plainRequest,
} from '../http/direct-answer.ts';
import { type Line, LineWriter, type Refusal, readLine, readMessage } from './message-lines.ts';

export interface StreamTransportOptions {
  input: Readable;
  output: Writable;
  maxLineBytes: number;
  /** Timeout for answers after the client has ended its input. */
  drainMs: number;
  /** Called when the client closes its input: calls should end. */
  onInputEnd(): void;
  /**
   * Called when every request is answered after the end of the input. The connection stays open until this resolves,
   * within `drainMs`.
   */
  onAnswered(): Promise<void>;
  onInFlight(count: number): void;
  /** Returns a function that answers this request directly. Null if the request has to go through `onmessage`. */
  direct(request: PlainRequest): ((call: DirectCall) => Promise<DirectAnswer>) | null;
  /** Returns the refusal of a message. Null if the message is accepted. */
  refuse(message: JSONRPCMessage): Refusal | null;
}

/** A request that is being answered without `onmessage`. */
interface Direct {
  stop: AbortController;
  isCancelled: boolean;
}

/** Number of unsent bytes from which a client's input is paused, so that its answers cannot fill the memory. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** Number of unread bytes from which log messages for a client are dropped, because only new ones are useful. */
const MAX_UNREAD_LOG_BYTES = 1024 * 1024;

/**
 * Newline-delimited JSON over a pair of streams. The transport owns both streams and closes them with the connection.
 */
export class StreamTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  /** Resolves when the connection has ended and its last answer was passed on. */
  readonly closed: Promise<void>;
  readonly #options: StreamTransportOptions;
  readonly #writer: LineWriter;
  readonly #unanswered = new Set<RequestId>();
  readonly #direct = new Map<RequestId, Direct>();
  #state: 'open' | 'draining' | 'closed' = 'open';
  #settleClosed: () => void = () => {};

  constructor(options: StreamTransportOptions) {
    this.#options = options;
    this.#writer = new LineWriter(options.output);
    this.closed = new Promise(resolve => {
      this.#settleClosed = resolve;
    });
  }

  get inFlight(): number {
    return this.#unanswered.size;
  }

  async start(): Promise<void> {
    const { input, output, maxLineBytes } = this.#options;
    const lines = new LineSplitter(
      { maxBytes: maxLineBytes },
      {
        line: bytes => this.#take({ bytes }),
        piece: edgesOfLongLine((tooLong, isLast) => {
          if (isLast) this.#take({ tooLong });
        }),
      },
    );
    // The error listener is never removed: a late EPIPE after closing must not become an uncaught exception.
    input.on('error', error => this.#fail(error));
    output.on('error', error => this.#fail(error));
    output.on('close', () => void this.close());
    output.on('drain', () => input.resume());
    input.on('data', (chunk: Buffer) => lines.push(chunk));
    input.on('end', () => {
      lines.end();
      this.#drain();
    });
    input.on('close', () => this.#drain());
    if (input.readableEnded || input.destroyed) setImmediate(() => this.#drain());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isLog = 'method' in message && message.method === 'notifications/message';
    if (isLog && this.#writer.unreadBytes > MAX_UNREAD_LOG_BYTES) return;
    try {
      await this.#write(message);
    } finally {
      if (!('method' in message) && message.id !== undefined) this.#answered(message.id);
    }
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#unanswered.clear();
    for (const id of this.#direct.keys()) this.#cancelDirect(id);
    this.#options.onInFlight(0);
    this.onclose?.();
    await this.#writer.end();
    this.#options.input.destroy();
    this.#settleClosed();
  }

  #take(line: Line): void {
    if (this.#state === 'closed') return;
    const read = readLine(line, this.#options.maxLineBytes);
    if (read === null) return;
    const plain = 'value' in read ? plainRequest(read.value) : null;
    if (plain && this.#answersDirectly(plain)) return;
    const reading = 'value' in read ? readMessage(read.value) : read;
    const refusal = 'refusal' in reading ? reading.refusal : this.#options.refuse(reading.message);
    if (refusal || 'refusal' in reading) {
      void this.#write(refusal).catch(() => {});
      return;
    }
    const { message } = reading;
    // A subscription is not counted, because it stays unanswered as long as it lasts, and nobody waits for it.
    if ('method' in message && 'id' in message && message.method !== 'subscriptions/listen') {
      this.#asked(message.id);
    }
    this.onmessage?.(message);
    if ('method' in message && message.method === 'notifications/cancelled') {
      const id = message.params?.requestId;
      if (typeof id !== 'string' && typeof id !== 'number') return;
      this.#cancelDirect(id);
      this.#answered(id);
    }
  }

  #answersDirectly(request: PlainRequest): boolean {
    const answer = this.#options.direct(request);
    if (!answer) return false;
    const { id } = request;
    const direct = { stop: new AbortController(), isCancelled: false };
    this.#direct.set(id, direct);
    this.#asked(id);
    const notify = (text: string) => {
      // Progress for a client that does not read is dropped, because only the newest is useful.
      if (this.#writer.unreadBytes <= MAX_UNREAD_BYTES) this.#send(text);
    };
    void answer({ signal: direct.stop.signal, notify }).then(({ parts }) => {
      if (this.#direct.get(id) === direct) this.#direct.delete(id);
      if (direct.isCancelled) return;
      this.#send(...joinTexts(parts));
      this.#answered(id);
    });
    return true;
  }

  #cancelDirect(id: RequestId): void {
    const direct = this.#direct.get(id);
    if (!direct) return;
    this.#direct.delete(id);
    direct.isCancelled = true;
    direct.stop.abort();
  }

  #asked(id: RequestId): void {
    this.#unanswered.add(id);
    this.#options.onInFlight(this.inFlight);
  }

  #send(...parts: DirectAnswer['parts']): void {
    this.#pauseIfBehind(this.#writer.writeParts(parts)).catch(() => {});
  }

  #write(message: unknown): Promise<void> {
    return this.#pauseIfBehind(this.#writer.write(message));
  }

  #pauseIfBehind(written: Promise<void>): Promise<void> {
    if (this.#writer.unreadBytes > MAX_UNREAD_BYTES) this.#options.input.pause();
    return written;
  }

  #answered(id: RequestId): void {
    if (!this.#unanswered.delete(id)) return;
    this.#options.onInFlight(this.inFlight);
    if (this.#state === 'draining' && this.inFlight === 0) void this.#depart();
  }

  /**
   * The connection is not closed yet, because the client may have closed only its sending half and still be reading.
   */
  #drain(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#options.onInputEnd();
    for (const { stop } of this.#direct.values()) stop.abort();
    if (!this.#writer.canWrite) return void this.close();
    setTimeout(() => void this.close(), this.#options.drainMs).unref();
    if (this.inFlight === 0) void this.#depart();
  }

  async #depart(): Promise<void> {
    await this.#options.onAnswered();
    await this.close();
  }

  #fail(error: Error): void {
    if (this.#state === 'closed') return;
    this.onerror?.(error);
    void this.close();
  }
}
