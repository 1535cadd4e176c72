import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { render } from 'preact';
import { visibleText } from '../../src/base/text.ts';
import { Copy } from '../ui/copy.tsx';

/** Returns the address for `path:line` in a text. Null if the path is not a known file. */
export type PlaceLink = (path: string, line: number) => string | null;

const TAGS = [
  ...['p', 'br', 'hr', 'blockquote', 'ul', 'ol', 'li', 'h3', 'h4', 'h5', 'h6', 'pre', 'code', 'strong', 'em'],
  ...['del', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
/**
 * Number of levels by which headings of an answer are moved down. The answer is below a heading of the second level.
 */
const HEADINGS_FROM = 2;

const escaped = (text: string): string => text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`);

const isWebLink = (href: string): boolean => /^https?:\/\//i.test(href) && URL.canParse(href);

const marked = new Marked({
  async: false,
  gfm: true,
  // A line of an agent stays a line, as in comments on GitHub: output of programs is often not marked as code.
  breaks: true,
  renderer: {
    // Raw HTML stays text, as the agent wrote it.
    html: ({ text }) => escaped(text),
    // Loading a remote image would reveal to its server that somebody reads this text.
    image: ({ href, text }) => escaped(`[image: ${text} ${href}]`),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + HEADINGS_FROM);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return isWebLink(href) ? `<a href="${escaped(href)}">${text}</a>` : `${text} (${escaped(href)})`;
    },
  },
});

/** Renders an agent's Markdown as safe elements: no raw HTML and no images; links to web pages are marked as such. */
export function renderMarkdown(text: string, linkOf: PlaceLink): DocumentFragment {
  const html = marked.parse(visibleText(text)) as string;
  const found = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', 'start', 'align'],
    ALLOWED_URI_REGEXP: /^https?:\/\//i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of found.querySelectorAll('a')) markLink(link);
  for (const block of found.querySelectorAll('pre')) addCopy(block);
  for (const table of found.querySelectorAll('table')) wrap(table, 'md-table');
  linkPlaces(found, linkOf);
  return found;
}

/** Shows the host of a link, unless the link's text contains it. */
function markLink(link: HTMLAnchorElement): void {
  link.rel = 'noreferrer noopener nofollow';
  link.target = '_blank';
  link.title = visibleText(link.href);
  const { host } = new URL(link.href);
  const mark = document.createElement('span');
  mark.className = 'md-host';
  mark.textContent = link.textContent === link.getAttribute('href') ? ' ↗' : ` (${host}) ↗`;
  link.append(mark);
}

function addCopy(block: HTMLElement): void {
  const text = block.textContent.replace(/\n$/, '');
  const box = wrap(block, 'md-code');
  block.tabIndex = 0;
  const place = document.createElement('span');
  place.className = 'md-copy';
  render(<Copy text={text} label="code" />, place);
  box.append(place);
}

function wrap(element: HTMLElement, className: string): HTMLElement {
  const box = document.createElement('div');
  box.className = className;
  if (className === 'md-table') box.tabIndex = 0;
  element.replaceWith(box);
  box.append(element);
  return box;
}

const PLACE = /([\w@./-]*[\w-]\.\w+):([1-9]\d{0,6})/g;

/** Turns `src/a.ts:12` into a link to that line of the changes. */
function linkPlaces(found: DocumentFragment, linkOf: PlaceLink): void {
  const texts = document.createTreeWalker(found, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  while (texts.nextNode()) nodes.push(texts.currentNode as Text);
  for (const node of nodes) {
    if (node.parentElement?.closest('a, pre')) continue;
    const parts: (string | Node)[] = [];
    let last = 0;
    for (const match of node.data.matchAll(PLACE)) {
      const href = linkOf(match[1]!, Number(match[2]));
      if (href === null) continue;
      const link = document.createElement('a');
      link.href = href;
      link.textContent = match[0];
      parts.push(node.data.slice(last, match.index), link);
      last = match.index + match[0].length;
    }
    if (parts.length > 0) node.replaceWith(...parts, node.data.slice(last));
  }
}
