const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

const ESCAPE = '\u001b';
const STYLE = new RegExp(`${ESCAPE}\\[[0-9;]*m`, 'y');
const PLAIN = /^[ -~]*$/;
const ZERO = /^[\p{Mark}\p{Default_Ignorable_Code_Point}\p{Cc}]+$/u;
const EMOJI = /^\p{Emoji_Presentation}|\ufe0f/u;

/** Ranges of characters that take two columns (East Asian wide and full width). */
const WIDE: [number, number][] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1aff0, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];

/** Columns that a line takes on screen; colours take none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const piece of pieces(text)) width += piece.width;
  return width;
}

/** Cuts to `width` columns, including an ellipsis, and resets colours. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return '';
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let room = width - 1;
  let styled = false;
  for (const piece of pieces(text)) {
    room -= piece.width;
    if (room < 0) break;
    kept += piece.text;
    styled ||= piece.isStyle;
  }
  return `${kept}…${styled ? `${ESCAPE}[0m` : ''}`;
}

export const padEnd = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - displayWidth(text)));

export const padStart = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - displayWidth(text))) + text;

interface Piece {
  text: string;
  width: number;
  isStyle: boolean;
}

function* pieces(text: string): Generator<Piece> {
  let from = 0;
  while (from < text.length) {
    STYLE.lastIndex = from;
    const style = STYLE.exec(text)?.[0];
    if (style) {
      yield { text: style, width: 0, isStyle: true };
      from += style.length;
      continue;
    }
    const next = text.indexOf(ESCAPE, from + 1);
    const end = next === -1 ? text.length : next;
    for (const { segment } of graphemes.segment(text.slice(from, end)))
      yield { text: segment, width: graphemeWidth(segment), isStyle: false };
    from = end;
  }
}

function graphemeWidth(grapheme: string): number {
  if (ZERO.test(grapheme)) return 0;
  if (EMOJI.test(grapheme)) return 2;
  const code = grapheme.codePointAt(0) ?? 0;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

/** Breaks lines between words to at most `width` columns; a longer word gets its own line. Line breaks stay. */
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
