import type { ServerResponse } from 'node:http';
import type { DirectAnswer } from './direct-answer.ts';

const KEEP_ALIVE_MS = 15_000;
const WORKING = ': working\n\n';

export interface HttpAnswerOptions {
  /** What the client can read. */
  json: boolean;
  stream: boolean;
  /** Without an answer for this long, the stream is opened, so that the client sees that we are there. */
  openStreamMs: number;
  headers: Record<string, string>;
}

/** One JSON-RPC answer over HTTP: in one piece if it is all there is to say, else as the last event of a stream. */
export class HttpAnswer {
  readonly #res: ServerResponse;
  readonly #options: HttpAnswerOptions;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(res: ServerResponse, options: HttpAnswerOptions) {
    this.#res = res;
    this.#options = options;
    if (options.stream) this.#timer = setTimeout(() => this.#openEarly(), options.openStreamMs).unref();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Not after the end. Lost on a client that reads no streams, or does not read fast enough: progress is only worth something when it is new. */
  notify(text: string): void {
    if (!this.#options.stream || this.#res.writableNeedDrain) return;
    this.#open();
    this.#res.write(event(text));
  }

  end({ text, status }: DirectAnswer): void {
    if (this.#isOver) return;
    this.leave();
    if (this.#res.headersSent || !this.#options.json) {
      this.#open();
      this.#res.end(event(text));
      return;
    }
    this.#res.writeHead(status, {
      ...this.#options.headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    this.#res.end(text);
  }

  /** Ends without a word. */
  drop(): void {
    if (this.#isOver) return;
    this.leave();
    if (this.#options.stream) this.#open();
    else this.#res.writeHead(202, this.#options.headers);
    this.#res.end();
  }

  /** Nothing more is said from here. */
  leave(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #open(): void {
    if (this.#res.headersSent) return;
    this.#res.writeHead(200, {
      ...this.#options.headers,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
  }

  #openEarly(): void {
    this.#open();
    this.#res.write(WORKING);
    this.#timer = setInterval(() => this.#res.write(WORKING), KEEP_ALIVE_MS).unref();
  }
}

const event = (text: string) => `event: message\ndata: ${text}\n\n`;
