import './markdown.css';
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { fromHub } from '../state/from-hub.ts';
import { Plain } from '../ui/plain.tsx';
import type { PlaceLink, renderMarkdown } from './render-markdown.tsx';

/**
 * Maximum length of a text that is rendered as Markdown. Parsing a longer text would block the tab, so it is shown as
 * plain text.
 */
const MAX_LENGTH = 200_000;

const renderer = signal<typeof renderMarkdown | null>(null);
let loading: Promise<void> | null = null;

/** The parser and the sanitiser are larger than the rest of a view, so they are loaded with the first text. */
function load(): Promise<void> {
  loading ??= fromHub(() => import('./render-markdown.tsx')).then(
    loaded => {
      renderer.value = loaded.renderMarkdown;
    },
    () => {
      // The text is readable without Markdown. The next view loads the parser again.
      loading = null;
    },
  );
  return loading;
}

/** Text of an agent, rendered as Markdown. */
export function Markdown({ text, linkOf = NO_LINKS }: { text: string; linkOf?: PlaceLink }) {
  const box = useRef<HTMLDivElement>(null);
  const render = renderer.value;
  useEffect(() => void load(), []);
  useLayoutEffect(() => {
    if (render) box.current?.replaceChildren(render(text, linkOf));
  }, [render, text, linkOf]);
  if (!render || text.length > MAX_LENGTH) return <Plain text={text} />;
  return <div class="markdown" ref={box} />;
}

const NO_LINKS: PlaceLink = () => null;
