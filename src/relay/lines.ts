const NEWLINE = 10;
/** The hub refuses longer lines itself; here they only must not pile up in memory. */
const LONGEST_KEPT = 33 * 1024 * 1024;

/** Cuts a byte stream into lines, newline included. A line too long to keep is passed on in pieces, unread. */
export class Lines {
  private pieces: Buffer[] = [];
  private length = 0;
  private readonly onLine: (line: Buffer) => void;

  constructor(onLine: (line: Buffer) => void) {
    this.onLine = onLine;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const end = chunk.subarray(from, at + 1);
      this.onLine(this.pieces.length > 0 ? Buffer.concat([...this.pieces, end]) : end);
      this.pieces = [];
      this.length = 0;
      from = at + 1;
    }
    if (from === chunk.length) return;
    this.pieces.push(chunk.subarray(from));
    this.length += chunk.length - from;
    if (this.length <= LONGEST_KEPT) return;
    for (const piece of this.pieces) this.onLine(piece);
    this.pieces = [];
    this.length = 0;
  }
}
