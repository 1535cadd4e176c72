/** First part of a frame: one line of JSON. `bytes` is the number of raw bytes that follow the line. */
export interface FrameHead {
  bytes?: number;
  [field: string]: unknown;
}

const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

export function frame(head: object, body: Buffer = NOTHING): Buffer {
  const line = JSON.stringify(body.length > 0 ? { ...head, bytes: body.length } : head);
  return Buffer.concat([Buffer.from(`${line}\n`), body]);
}

/** Limits for incoming lines and bodies. A peer that exceeds them may be hostile and is disconnected. */
export interface FrameLimits {
  maxLine: number;
  maxBody: number;
}

export const FRAME_LIMITS: FrameLimits = { maxLine: 4 * 1024 * 1024, maxBody: 4 * 1024 * 1024 };

/** Splits a stream into frames. `push` throws for anything that is not a frame; nothing can be read after that. */
export class FrameReader {
  readonly #onFrame: (head: FrameHead, body: Buffer) => void;
  readonly #limits: FrameLimits;
  #parts: Buffer[] = [];
  #size = 0;
  #head: FrameHead | null = null;

  constructor(onFrame: (head: FrameHead, body: Buffer) => void, limits = FRAME_LIMITS) {
    this.#onFrame = onFrame;
    this.#limits = limits;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#head === null ? this.#line(rest) : this.#body(this.#head, rest);
  }

  #line(chunk: Buffer): Buffer {
    const at = chunk.indexOf(NEWLINE);
    const end = at < 0 ? chunk.length : at;
    this.#keep(chunk.subarray(0, end));
    if (this.#size > this.#limits.maxLine)
      throw new Error(`A line has more than ${this.#limits.maxLine} bytes`);
    if (at < 0) return NOTHING;
    const head = JSON.parse(this.#take().toString()) as unknown;
    if (typeof head !== 'object' || head === null) throw new Error('A line is not a JSON object');
    const { bytes = 0 } = head as FrameHead;
    if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > this.#limits.maxBody)
      throw new Error(`A frame announces ${bytes} bytes`);
    if (bytes > 0) this.#head = head as FrameHead;
    else this.#onFrame(head as FrameHead, NOTHING);
    return chunk.subarray(at + 1);
  }

  #body(head: FrameHead, chunk: Buffer): Buffer {
    const missing = head.bytes! - this.#size;
    this.#keep(chunk.subarray(0, missing));
    if (chunk.length < missing) return NOTHING;
    this.#head = null;
    this.#onFrame(head, this.#take());
    return chunk.subarray(missing);
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#size += part.length;
  }

  #take(): Buffer {
    const whole = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    return whole;
  }
}
