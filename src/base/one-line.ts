import { visibleLine } from './visible-text.ts';

/** A task can be megabytes; nobody needs more than this to find its first words. */
const LOOKED_AT = 4_000;

/** Somebody's text as one line of at most `most` characters, with hidden characters shown. */
export function oneLine(text: string, most: number): string {
  const line = visibleLine(text.slice(0, LOOKED_AT).toWellFormed());
  const characters = [...line];
  const isAll = characters.length <= most && text.length <= LOOKED_AT;
  return isAll
    ? line
    : `${characters
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`;
}

/** One line that is only text in Markdown, also in a cell of a table. */
export function asMarkdownText(text: string, most: number): string {
  return (
    oneLine(text, most)
      .replace(/&(?=[#\w])/g, '&amp;')
      .replace(/</g, '&lt;')
      .replace(/>/g, '&gt;')
      .replace(/[\\`*[\]|~]/g, '\\$&')
      // Inside a word it marks nothing, and ids and names are looked for as they are.
      .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
  );
}
