import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Refusal, refuse } from './guard.ts';

export interface BodyBounds {
  /** Maximum number of bodies that are still arriving. */
  bodies: number;
  /** Maximum total size of all bodies whose requests are not answered yet. */
  bytes: number;
}

export interface BodyLimitOptions {
  perToken: BodyBounds;
  all: BodyBounds;
  /** Maximum time for a body to arrive. On loopback the largest takes less than a second. */
  timeoutMs: number;
}

const MIB = 1024 * 1024;
export const BODY_LIMITS: BodyLimitOptions = {
  perToken: { bodies: 64, bytes: 64 * MIB },
  all: { bodies: 512, bytes: 256 * MIB },
  timeoutMs: 15_000,
};

/**
 * Counts request bodies before they are buffered: by their declared size, or chunk by chunk. A request over a limit is refused
 * with a status, and its connection is closed.
 */
export class BodyLimits {
  readonly #limits: BodyLimitOptions;
  readonly #held = new Map<string, BodyBounds>();
  readonly #all: BodyBounds = { bodies: 0, bytes: 0 };

  constructor(limits: BodyLimitOptions = BODY_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Checks the size of a body against the limits. Null if the body may be read. Requests without a token (`''`) share
   * one allowance.
   */
  admit(request: IncomingMessage, response: ServerResponse, token: string): Refusal | null {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    const declared = Number(length ?? 0);
    if (declared === 0 && encoding === undefined) return null;
    const held = this.#held.get(token) ?? { bodies: 0, bytes: 0 };
    const isFull = held.bodies >= this.#limits.perToken.bodies || this.#all.bodies >= this.#limits.all.bodies;
    if (isFull) return TOO_MANY;
    // Node buffers data while the sender is being identified, so a small body has arrived completely by now.
    let received = request.readableLength;
    let isArriving = !request.complete;
    let bytes = Math.max(declared, received);
    if (!this.#hasRoom(held, bytes)) return TOO_MUCH;
    this.#held.set(token, held);
    const counts = [held, this.#all];
    for (const count of counts) {
      if (isArriving) count.bodies += 1;
      count.bytes += bytes;
    }
    const arrived = () => {
      if (!isArriving) return;
      isArriving = false;
      clearTimeout(timer);
      for (const count of counts) count.bodies -= 1;
    };
    const stop = (refusal: Refusal) => {
      arrived();
      cutOff(request, response, refusal);
    };
    const timer = isArriving ? setTimeout(() => stop(TOO_SLOW), this.#limits.timeoutMs).unref() : undefined;
    // Every chunk passes `push`. A 'data' listener would start the flow before there is a reader.
    const push = request.push.bind(request);
    request.push = (chunk: Buffer | null, ...rest) => {
      if (chunk === null) arrived();
      else if (isArriving) {
        received += chunk.length;
        const more = received - bytes;
        if (more > 0 && !this.#hasRoom(held, more)) {
          stop(TOO_MUCH);
          return false;
        }
        if (more > 0) {
          bytes += more;
          for (const count of counts) count.bytes += more;
        }
      } else if (!request.complete) return false;
      return push(chunk, ...rest);
    };
    response.once('close', () => {
      arrived();
      for (const count of counts) count.bytes -= bytes;
      if (held.bodies === 0 && held.bytes === 0) this.#held.delete(token);
    });
    return null;
  }

  #hasRoom(held: BodyBounds, more: number): boolean {
    return (
      held.bytes + more <= this.#limits.perToken.bytes && this.#all.bytes + more <= this.#limits.all.bytes
    );
  }
}

/** Answers in the middle of a body, without waiting for the rest of it. */
function cutOff(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent) return void request.socket.destroy();
  response.once('finish', () => request.socket.destroySoon());
  refuse(response, refusal);
}

const AGAIN = ['Send the request again when earlier ones are answered.'];
const TOO_MANY: Refusal = {
  status: 429,
  code: 'TOO_MANY_BODIES',
  message: 'Too many request bodies are arriving at once',
  suggestions: AGAIN,
};
const TOO_MUCH: Refusal = {
  status: 429,
  code: 'TOO_MANY_BODIES',
  message: 'The request bodies that Squad has not answered yet are too large in total',
  suggestions: AGAIN,
};
const TOO_SLOW: Refusal = {
  status: 408,
  code: 'BODY_TOO_SLOW',
  message: 'The request body took too long to arrive',
  suggestions: ['Send the whole body at once.'],
};
