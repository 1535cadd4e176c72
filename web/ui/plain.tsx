import { harmless } from './harmless.ts';

/** Text of an agent: as it is, wrapped, and nothing in it obeyed. */
export function Plain({ text, isBlock = true }: { text: string; isBlock?: boolean }) {
  return isBlock ? (
    <div class="plain">{harmless(text)}</div>
  ) : (
    <span class="plain-line">{harmless(text)}</span>
  );
}
