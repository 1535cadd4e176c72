import { harmless } from './harmless.ts';

/** Text of an agent: as it is, wrapped, and nothing in it obeyed. */
export function Plain({ text, isBlock = true }: { text: string; isBlock?: boolean }) {
  const shown = harmless(text);
  return isBlock ? <div class="plain">{shown}</div> : <span class="plain-line">{shown}</span>;
}
