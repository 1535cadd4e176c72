const NEWLINE = 0x0a;

export interface LineSplitter {
  push(bytes: Buffer): void;
  /** Something is missing here: neither what came of its line nor what is still to come is a line. */
  tear(): void;
  /** The last line, when it has no newline. */
  end(): void;
}

/** Called for a line that is left out because it is too long or not whole: its first bytes, and how many it has. */
export type OnLongLine = (beginning: string, bytes: number) => void;

/** Enough to tell what kind of line it is. */
const BEGINNING = 1024;

/** Bytes in, whole lines out. A newline is never part of another character, so a line's bytes decode by themselves. */
export function createLineSplitter(
  longest: number,
  onLine: (line: string) => void,
  onLongLine: OnLongLine = () => {},
): LineSplitter {
  let pieces: Buffer[] = [];
  let length = 0;

  function add(bytes: Buffer): void {
    const isTooLong = length + bytes.length > longest;
    // Copied, because the reader uses its buffer again.
    if (!isTooLong && bytes.length > 0) pieces.push(Buffer.from(bytes));
    else if (isTooLong && length <= longest) pieces = [beginningWith(bytes)];
    length += bytes.length;
  }

  function finish(last: Buffer): void {
    const bytes = length + last.length;
    if (bytes > longest)
      onLongLine((length > longest ? pieces[0] : beginningWith(last))?.toString('utf8') ?? '', bytes);
    else if (length === 0) onLine(last.toString('utf8'));
    else onLine(Buffer.concat([...pieces, last]).toString('utf8'));
    pieces = [];
    length = 0;
  }

  const beginningWith = (bytes: Buffer): Buffer =>
    Buffer.concat([...pieces, bytes.subarray(0, BEGINNING)]).subarray(0, BEGINNING);

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
  };
}
