const NEWLINE = 10;
/** Enough to recognise a long line by how it begins or ends. */
const EDGE_BYTES = 1024;

export interface LineReader {
  line(bytes: Buffer): void;
  /** Part of a line over the limit, as it comes. The last part may be empty. */
  piece?(bytes: Buffer, isLast: boolean): void;
}

export interface SplitOptions {
  /** Longer lines are not kept in memory but passed on in pieces. */
  maxBytes: number;
  /** Lines come with the newline that ends them. */
  keepsNewline?: boolean;
}

/** Cuts a byte stream into lines, at newlines and nothing else. A newline is never part of another character, so each line can be decoded alone. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #keepsNewline: boolean;
  readonly #reader: LineReader;
  #parts: Buffer[] = [];
  #size = 0;
  #isLong = false;

  constructor({ maxBytes, keepsNewline = false }: SplitOptions, reader: LineReader) {
    this.#maxBytes = maxBytes;
    this.#keepsNewline = keepsNewline;
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

  /** Bytes are missing here: the rest of this line is passed on in pieces, like that of a long one. */
  skipLine(): void {
    this.#reset(true);
  }

  /** Bytes after the last newline count as a line. */
  end(): void {
    if (this.#isLong || this.#size > 0) this.#take(Buffer.alloc(0), true);
  }

  #take(part: Buffer, isEnd: boolean): void {
    const isLong = this.#isLong || this.#size + part.length > this.#maxBytes;
    if (!isLong && !isEnd) {
      // Copied: readers of files use their buffer again.
      this.#parts.push(Buffer.from(part));
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

/** Both ends of a line that was too long to keep, and its size so far. */
export interface LineEdges {
  head: Buffer;
  tail: Buffer;
  bytes: number;
}

/** `LineReader.piece` for readers that need no more of a long line than its edges; called with each piece. */
export function edgesOfLongLine(
  onEdges: (edges: LineEdges, isLast: boolean) => void,
): Required<LineReader>['piece'] {
  let edges: LineEdges | null = null;
  return (piece, isLast) => {
    // Copies, so that the chunks they came from can be freed.
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
