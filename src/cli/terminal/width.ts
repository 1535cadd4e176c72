import stringWidth from 'string-width';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

const ESCAPE = '\u001b';
const STYLE = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);

/** Columns that a line takes on screen; colours take none. */
export const displayWidth = (text: string): number => stringWidth(text);

/** Cuts to `width` columns, including an ellipsis, and resets colours. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return '';
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let room = width - 1;
  for (const piece of text.split(STYLE).flatMap(part => (STYLE.test(part) ? part : graphemesOf(part)))) {
    room -= displayWidth(piece);
    if (room < 0) break;
    kept += piece;
  }
  return `${kept}…${STYLE.test(kept) ? `${ESCAPE}[0m` : ''}`;
}

const graphemesOf = (text: string): string[] => Array.from(graphemes.segment(text), ({ segment }) => segment);

export const padEnd = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - displayWidth(text)));

export const padStart = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - displayWidth(text))) + text;

/** Breaks lines between words at `width` columns; a longer word gets its own line. Existing line breaks stay. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => {
    const lines = [''];
    for (const word of line.split(' ')) {
      const last = lines.at(-1)!;
      const longer = last === '' ? word : `${last} ${word}`;
      if (last === '' || displayWidth(longer) <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  });
}
