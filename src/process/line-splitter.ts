const NEWLINE = 0x0a;

export interface LineSplitter {
  push(bytes: Buffer): void;
  /** Something is missing here: neither what came of its line nor what is still to come is a line. */
  tear(): void;
  /** The last line, when it has no newline. */
  end(): void;
  /** Lines that were too long to keep, or not whole. */
  dropped(): number;
}

/** Bytes in, whole lines out. A newline is never part of another character, so a line's bytes decode by themselves. */
export function createLineSplitter(longest: number, onLine: (line: string) => void): LineSplitter {
  let pieces: Buffer[] = [];
  let length = 0;
  let dropped = 0;

  function add(bytes: Buffer): void {
    length += bytes.length;
    if (length > longest) pieces = [];
    // Copied, because the reader uses its buffer again.
    else if (bytes.length > 0) pieces.push(Buffer.from(bytes));
  }

  function finish(last: Buffer): void {
    if (length + last.length > longest) dropped++;
    else if (length === 0) onLine(last.toString('utf8'));
    else onLine(Buffer.concat([...pieces, last]).toString('utf8'));
    pieces = [];
    length = 0;
  }

  return {
    push(bytes) {
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        finish(bytes.subarray(start, end));
        start = end + 1;
      }
      add(bytes.subarray(start));
    },
    tear() {
      pieces = [];
      length = longest + 1;
    },
    end() {
      if (length > 0) finish(Buffer.alloc(0));
    },
    dropped: () => dropped,
  };
}
