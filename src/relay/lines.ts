const NEWLINE = 10;
/** The hub refuses longer lines itself; here they only must not pile up in memory. */
const MAX_KEPT_LENGTH = 33 * 1024 * 1024;

export interface LineReader {
  /** A whole line, newline included. */
  line(bytes: Buffer): void;
  /** A part of a line too long to keep; the last one ends it. */
  piece(bytes: Buffer, isLast: boolean): void;
}

/** Cuts a byte stream into lines, at newlines and nothing else. */
export class Lines {
  private parts: Buffer[] = [];
  private length = 0;
  private isLong = false;
  private readonly reader: LineReader;

  constructor(reader: LineReader) {
    this.reader = reader;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.parts.push(chunk.subarray(from, at + 1));
      from = at + 1;
      this.emit(true);
    }
    if (from === chunk.length) return;
    this.parts.push(chunk.subarray(from));
    this.length += chunk.length - from;
    if (this.isLong || this.length > MAX_KEPT_LENGTH) this.emit(false);
  }

  private emit(isEnd: boolean): void {
    const { parts, isLong } = this;
    this.parts = [];
    this.length = 0;
    this.isLong = !isEnd;
    if (isEnd && !isLong) this.reader.line(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
    else for (const [i, part] of parts.entries()) this.reader.piece(part, isEnd && i === parts.length - 1);
  }
}
