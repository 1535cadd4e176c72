/** Texts of one result share so many bytes; what is beyond is cut, and the cut says how much is missing. */
export interface TextBudget {
  take(text: string): string;
}

export function createTextBudget(bytes: number): TextBudget {
  let left = bytes;
  return {
    take(text) {
      if (left === Number.POSITIVE_INFINITY) return text;
      const size = Buffer.byteLength(text);
      if (size <= left) {
        left -= size;
        return text;
      }
      const kept = cutTo(text, left);
      left = 0;
      return `${kept}\n[cut by Squad: ${size - Buffer.byteLength(kept)} of ${size} bytes are not shown; ask for less at a time]`;
    },
  };
}

/** As many whole characters as fit. */
function cutTo(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  let end = bytes;
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}
