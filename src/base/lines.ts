const NEWLINE = 10;
/** Number of bytes that are enough to recognise a long line by its beginning or end. */
const EDGE_BYTES = 1024;

export interface LineReader {
  line(bytes: Buffer): void;
  /** Called with each part of a line that exceeds the limit. The last part, which may be empty, has `isLast` set. */
  piece?(bytes: Buffer, isLast: boolean): void;
}

export interface SplitOptions {
  /** Maximum length of a line. Longer lines are not kept in memory but passed on in pieces. */
  maxBytes: number;
  /** True if lines include the newline that ends them. */
  keepsNewline?: boolean;
  /** True if chunks are overwritten after `push`, as a reader of files does. Then the beginning of a line is copied. */
  reusesChunks?: boolean;
}

/**
 * Splits a byte stream into lines, only at newlines. In UTF-8 a newline is never part of another character, so each
 * line can be decoded alone.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #keepsNewline: boolean;
  readonly #reusesChunks: boolean;
  readonly #reader: LineReader;
  #parts: Buffer[] = [];
  #size = 0;
  #isLong = false;

  constructor({ maxBytes, keepsNewline = false, reusesChunks = false }: SplitOptions, reader: LineReader) {
    this.#maxBytes = maxBytes;
    this.#keepsNewline = keepsNewline;
    this.#reusesChunks = reusesChunks;
    this.#reader = reader;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#take(chunk.subarray(from, this.#keepsNewline ? at + 1 : at), true);
      from = at + 1;
    }
    if (from < chunk.length) this.#take(chunk.subarray(from), false);
  }

  /**
   * Must be called when bytes are missing: the rest of the current line is then passed on in pieces, like a long line.
   */
  skipLine(): void {
    this.#reset(true);
  }

  /** Ends the stream. Bytes after the last newline count as a line. */
  end(): void {
    if (this.#isLong || this.#size > 0) this.#take(Buffer.alloc(0), true);
  }

  #take(part: Buffer, isEnd: boolean): void {
    const isLong = this.#isLong || this.#size + part.length > this.#maxBytes;
    if (!isLong && !isEnd) {
      this.#parts.push(this.#reusesChunks ? Buffer.from(part) : part);
      this.#size += part.length;
      return;
    }
    const bytes = this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part]);
    this.#reset(isLong && !isEnd);
    if (isLong) this.#reader.piece?.(bytes, isEnd);
    else this.#reader.line(bytes);
  }

  #reset(isLong: boolean): void {
    this.#parts = [];
    this.#size = 0;
    this.#isLong = isLong;
  }
}

/** Beginning and end of a line that was too long to keep, and its size so far. */
export interface LineEdges {
  head: Buffer;
  tail: Buffer;
  bytes: number;
}

/** `LineReader.piece` for readers that need only the beginning and end of a long line. */
export function edgesOfLongLine(
  onEdges: (edges: LineEdges, isLast: boolean) => void,
): Required<LineReader>['piece'] {
  let edges: LineEdges | null = null;
  return (piece, isLast) => {
    // The parts are copied, so that the chunks can be freed.
    const { head, tail, bytes } = edges ?? {
      head: Buffer.from(piece.subarray(0, EDGE_BYTES)),
      tail: Buffer.alloc(0),
      bytes: 0,
    };
    const end = Buffer.concat([tail, piece.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES);
    const grown = { head, tail: Buffer.from(end), bytes: bytes + piece.length };
    edges = isLast ? null : grown;
    onEdges(grown, isLast);
  };
}
