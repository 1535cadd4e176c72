import type { Edges } from './stream/read-message.ts';

/** A line, or what is known of one that was too long to keep. */
export type Line = { bytes: Buffer } | { tooLong: Edges };

/** What is no line any more, however it goes on. */
export interface Endless {
  afterBytes: number;
  /** Told once for each. */
  onEndless(): void;
}

const KEPT_EDGE = 512;
const NEWLINE = 10;
const NEVER: Endless = { afterBytes: Number.POSITIVE_INFINITY, onEndless() {} };

/** Cuts a byte stream into lines and never holds more than `maxBytes` of one, however long it grows. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #emit: (line: Line) => void;
  readonly #endless: Endless | undefined;
  #parts: Buffer[] = [];
  #size = 0;
  #skipped: Edges | null = null;

  constructor(maxBytes: number, emit: (line: Line) => void, endless?: Endless) {
    this.#maxBytes = maxBytes;
    this.#emit = emit;
    this.#endless = endless;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, to));
      this.#finish();
      from = to + 1;
    }
    if (from < chunk.length) this.#add(chunk.subarray(from));
  }

  /** What came after the last newline counts as a line. */
  end(): void {
    if (this.#size > 0 || this.#skipped) this.#finish();
  }

  #add(part: Buffer): void {
    const before = this.#size;
    this.#size += part.length;
    if (this.#skipped) this.#skipped.tail = lastBytes(this.#skipped.tail, part);
    else this.#keep(part);
    const { afterBytes, onEndless } = this.#endless ?? NEVER;
    if (before <= afterBytes && this.#size > afterBytes) onEndless();
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    if (this.#size <= this.#maxBytes) return;
    const kept = Buffer.concat(this.#parts);
    this.#skipped = {
      head: Buffer.from(kept.subarray(0, KEPT_EDGE)),
      tail: Buffer.from(kept.subarray(-KEPT_EDGE)),
    };
    this.#parts = [];
  }

  #finish(): void {
    const line = this.#skipped ? { tooLong: this.#skipped } : { bytes: this.#whole() };
    this.#skipped = null;
    this.#parts = [];
    this.#size = 0;
    this.#emit(line);
  }

  #whole(): Buffer {
    const [first] = this.#parts;
    return first && this.#parts.length === 1 ? first : Buffer.concat(this.#parts);
  }
}

/** A copy, so that the chunk it came from can be freed. */
function lastBytes(tail: Buffer, part: Buffer): Buffer {
  return Buffer.from(Buffer.concat([tail, part.subarray(-KEPT_EDGE)]).subarray(-KEPT_EDGE));
}
