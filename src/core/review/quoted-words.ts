import { longestStreak } from '../../base/longest-streak.ts';
import { visibleText } from '../../base/visible-text.ts';

/**
 * Somebody's words as a quotation, every line of them marked. No line can end it: whatever a reader, a terminal or a model may
 * take for a new line begins one here.
 */
export function quotedWords(text: string): string {
  return text
    .trim()
    .split(LINE_END)
    .map(line => `> ${visibleText(line)}`.trimEnd())
    .join('\n');
}

/** Somebody's words as they are, between two lines that none of them is. For words that something is to be done with. */
export function betweenLines(text: string): string {
  const line = '='.repeat(Math.max(SHORTEST_LINE, longestStreak(text, /=+/g) + 1));
  return `${line}\n${text.trim()}\n${line}`;
}

const SHORTEST_LINE = 12;

/** On one line, for a heading. */
export const onOneLine = (text: string): string => visibleText(text.trim().split(LINE_END).join(' '));

/** Its beginning, where the whole would crowd out the rest. */
export function cutWords(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}\n[… cut here]` : text;
}

const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
