import type { ServerResponse } from 'node:http';
import type { RequestId } from '@modelcontextprotocol/server';
import { type DirectAnswer, type DirectCall, errorAnswer } from './direct-answer.ts';
import type { HttpAnswer } from './http-answer.ts';
import type { PlainRequest } from './plain-request.ts';

export interface HttpCallOptions {
  request: PlainRequest;
  /** Of the legacy session it belongs to. */
  sessionId: string | null;
  answer: HttpAnswer;
  /** Called once, when nothing more can be said. */
  onOver(): void;
}

/** One request over HTTP that is answered past the SDK, and the three ways in which it can end before that. */
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
    // Someone who left while we spoke is no fault of ours.
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

  /** The owner may ask no more: it is told so in place of the answer. */
  cutOff(reason: Error): void {
    const { answer, request } = this.#options;
    answer.end(errorAnswer(request, reason));
    this.#stop.abort(reason);
  }

  /** The client waits no longer. No answer follows, as the protocol says. */
  cancel(): void {
    this.#options.answer.drop();
    this.#stop.abort();
  }
}
