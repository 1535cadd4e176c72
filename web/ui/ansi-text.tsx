import { useLayoutEffect, useRef } from 'preact/hooks';
import { AnsiParser } from './ansi.ts';
import { drawSpan } from './ansi-dom.ts';

/** A short output with its colours. */
export function AnsiText({ text }: { text: string }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const parser = new AnsiParser();
    const lines = [...parser.push(text), parser.open];
    place.current?.replaceChildren(
      ...lines.flatMap((line, index) => [...(index > 0 ? ['\n'] : []), ...line.map(drawSpan)]),
    );
  }, [text]);
  return <span ref={place} />;
}
