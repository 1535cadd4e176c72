/** Text that is added to for ever and kept only up to a limit. */
export interface CappedText {
  add(text: string): void;
  /** Cut to `most`, with a word about what is missing. */
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

/** `length`: of all of it, when `text` is only the beginning. */
export function cutText(text: string, most: number, length = text.length): string {
  if (length <= most && text.length === length) return text;
  const kept = text.slice(0, most).toWellFormed();
  return `${kept}\n[${length - kept.length} more characters left out]`;
}
