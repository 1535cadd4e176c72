const MOST_KEPT = 256 * 1024;

export interface TextTail {
  add(line: string): void;
  text(): string;
}

/** The last lines of something that may never end. */
export function createTextTail(mostKept = MOST_KEPT): TextTail {
  let lines: string[] = [];
  let first = 0;
  let size = 0;
  return {
    add(line) {
      const kept = line.slice(-mostKept);
      lines.push(kept);
      size += kept.length + 1;
      while (size > mostKept + 1) {
        size -= (lines[first]?.length ?? 0) + 1;
        lines[first++] = '';
      }
      // The list is cut now and then, not for every line.
      if (first > 1000) {
        lines = lines.slice(first);
        first = 0;
      }
    },
    text: () => lines.slice(first).join('\n'),
  };
}
