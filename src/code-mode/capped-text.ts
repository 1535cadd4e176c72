/** Collects text and keeps only the first `limit` characters. */
export interface CappedText {
  add(text: string): void;
  /** Cut to `most` characters, with a note of how much is missing. */
  text(most?: number): string;
}

export function createCappedText(limit: number): CappedText {
  let kept = '';
  let length = 0;
  return {
    add(text) {
      length += text.length;
      if (kept.length < limit) kept += text.slice(0, limit - kept.length);
    },
    text: (most = limit) => cutText(kept, Math.max(0, Math.min(most, limit)), length),
  };
}

/** `length`: of the whole text, if `text` is only its beginning. */
export function cutText(text: string, most: number, length = text.length): string {
  if (length <= most && text.length === length) return text;
  const kept = text.slice(0, most).toWellFormed();
  return `${kept}\n[${length - kept.length} more characters left out]`;
}
