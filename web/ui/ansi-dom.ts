import './ansi.css';
import type { AnsiLine, AnsiSpan } from './ansi.ts';
import { PLAIN_STYLE } from './ansi-style.ts';

/**
 * Creates only text nodes, so output can never become markup. Custom colours are set as properties, never written as
 * CSS text.
 */
export function drawSpan({ text, style, href }: AnsiSpan): Node {
  if (href === null && style === PLAIN_STYLE) return document.createTextNode(text);
  const element = document.createElement(href === null ? 'span' : 'a');
  element.textContent = text;
  if (element instanceof HTMLAnchorElement) {
    element.href = href!;
    element.rel = 'noreferrer noopener';
    element.target = '_blank';
    element.title = href!;
  }
  const { isInverse } = style;
  const fg = isInverse ? (style.bg ?? 'page') : style.fg;
  const bg = isInverse ? (style.fg ?? 'text') : style.bg;
  // Text in the colour of its background would be hidden, so that colour is dropped.
  colour(element, 'fg', fg === bg ? null : fg);
  colour(element, 'bg', fg === bg ? null : bg);
  if (style.isBold) element.classList.add('ansi-bold');
  if (style.isDim) element.classList.add('ansi-dim');
  if (style.isItalic) element.classList.add('ansi-italic');
  if (style.isUnderlined) element.classList.add('ansi-underlined');
  if (style.isStruck) element.classList.add('ansi-struck');
  return element;
}

function colour(element: HTMLElement, what: 'fg' | 'bg', value: string | null): void {
  if (value === null) return;
  if (!value.startsWith('#')) element.classList.add(`ansi-${what}-${value}`);
  else if (what === 'fg') element.style.color = value;
  else element.style.backgroundColor = value;
}

/** Cuts a line to this many characters. */
export function cutLine(line: AnsiLine, most: number): AnsiLine {
  const cut: AnsiLine = [];
  let left = most;
  for (const span of line) {
    if (left <= 0) break;
    cut.push(span.text.length > left ? { ...span, text: span.text.slice(0, left).toWellFormed() } : span);
    left -= span.text.length;
  }
  return cut;
}

export const lengthOf = (line: AnsiLine): number => line.reduce((sum, { text }) => sum + text.length, 0);
