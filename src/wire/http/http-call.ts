import type { ServerResponse } from 'node:http';
import type { RequestId } from '@modelcontextprotocol/server';
import {
  type DirectAnswer,
  type DirectCall,
  errorAnswer,
  joinTexts,
  type PlainRequest,
} from './direct-answer.ts';

interface HttpCallOptions {
  request: PlainRequest;
  /** Legacy session of the request. Null if it has none. */
  sessionId: string | null;
  answer: HttpAnswer;
  /** Called once, when nothing more can be sent. */
  onOver(): void;
}

/**
 * An HTTP request that is answered without the SDK. It ends early if its owner loses access, or if the client cancels
 * or disconnects.
 */
export class HttpCall {
  readonly #options: HttpCallOptions;
  readonly #stop = new AbortController();

  constructor(options: HttpCallOptions, res: ServerResponse) {
    this.#options = options;
    res.once('close', () => {
      if (!options.answer.isOver) this.#stop.abort();
      options.answer.leave();
      options.onOver();
    });
    // The client may disconnect during the response.
    res.on('error', () => {});
  }

  async run(work: (call: DirectCall) => Promise<DirectAnswer>): Promise<void> {
    const { answer } = this.#options;
    answer.end(await work({ signal: this.#stop.signal, notify: text => answer.notify(text) }));
  }

  isOf(sessionId: string, id?: RequestId): boolean {
    const { request, sessionId: own } = this.#options;
    return own === sessionId && (id === undefined || id === request.id);
  }

  /** Ends the call because its owner has lost access. The request is answered with the reason. */
  cutOff(reason: Error): void {
    const { answer, request } = this.#options;
    answer.end(errorAnswer(request, reason));
    this.#stop.abort(reason);
  }

  /** The client has cancelled. By the protocol no answer follows. */
  cancel(): void {
    this.#options.answer.drop();
    this.#stop.abort();
  }
}

const KEEP_ALIVE_MS = 15_000;
const WORKING = ': working\n\n';

interface HttpAnswerOptions {
  /** Formats that the client accepts. */
  json: boolean;
  stream: boolean;
  /**
   * Time without an answer after which the stream is opened, so that the client sees that the request is being handled.
   */
  openStreamMs: number;
  headers: Record<string, string>;
}

/** One JSON-RPC answer over HTTP: as one JSON body, or as the last event of a stream after notifications. */
export class HttpAnswer {
  readonly #res: ServerResponse;
  readonly #options: HttpAnswerOptions;
  #timer: NodeJS.Timeout | undefined;
  isOver = false;

  constructor(res: ServerResponse, options: HttpAnswerOptions) {
    this.#res = res;
    this.#options = options;
    if (options.stream) this.#timer = setTimeout(() => this.#openEarly(), options.openStreamMs).unref();
  }

  /**
   * Sends a notification, unless the call has ended. Dropped if the client cannot read streams or reads too slowly,
   * because only the newest progress is useful.
   */
  notify(text: string): void {
    if (!this.#options.stream || this.#res.writableNeedDrain) return;
    this.#open();
    this.#res.write(`${EVENT_START}${text}${EVENT_END}`);
  }

  end({ parts, status }: DirectAnswer): void {
    if (this.isOver) return;
    this.leave();
    if (this.#res.headersSent || !this.#options.json) {
      this.#open();
      this.#end([EVENT_START, ...parts, EVENT_END]);
      return;
    }
    this.#res.writeHead(status, {
      ...this.#options.headers,
      'content-type': 'application/json',
      'content-length': parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0),
    });
    this.#end(parts);
  }

  /** Ends the call without an answer. */
  drop(): void {
    if (this.isOver) return;
    this.leave();
    if (this.#options.stream) this.#open();
    else this.#res.writeHead(202, this.#options.headers);
    this.#res.end();
  }

  /** Ends the call. Anything that is sent to it later is dropped. */
  leave(): void {
    this.isOver = true;
    clearTimeout(this.#timer);
  }

  #end(parts: DirectAnswer['parts']): void {
    const [last, ...before] = joinTexts(parts).reverse();
    for (const part of before.reverse()) this.#res.write(part);
    this.#res.end(last);
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

const EVENT_START = 'event: message\ndata: ';
const EVENT_END = '\n\n';
