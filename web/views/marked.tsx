import { visibleText } from '../../src/base/text.ts';
import { highlight } from './highlight.ts';

/** A text with the words of a search highlighted. */
export function Marked({ text, search }: { text: string; search: string }) {
  return (
    <>
      {highlight(visibleText(text), search).map((stretch, index) =>
        stretch.isHit ? <mark key={index}>{stretch.text}</mark> : stretch.text,
      )}
    </>
  );
}
