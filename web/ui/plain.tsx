import { visibleText } from '../../src/base/text.ts';

/** Text of an agent, wrapped, with hidden and control characters made visible. */
export function Plain({ text }: { text: string }) {
  return <div class="plain">{visibleText(text)}</div>;
}

/** Foreign text inside a line. */
export function PlainLine({ text }: { text: string }) {
  return <span class="plain-line">{visibleText(text)}</span>;
}
