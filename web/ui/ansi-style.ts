/** Style of a piece of output. A colour is one of the 16 of the theme (`0` to `15`) or a custom `#rrggbb`. */
export interface AnsiStyle {
  fg: string | null;
  bg: string | null;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
  isStruck: boolean;
  isInverse: boolean;
}

export const PLAIN_STYLE: AnsiStyle = {
  fg: null,
  bg: null,
  isBold: false,
  isDim: false,
  isItalic: false,
  isUnderlined: false,
  isStruck: false,
  isInverse: false,
};

const ON: Record<number, Partial<AnsiStyle>> = {
  1: { isBold: true },
  2: { isDim: true },
  3: { isItalic: true },
  4: { isUnderlined: true },
  7: { isInverse: true },
  9: { isStruck: true },
  21: { isUnderlined: true },
  22: { isBold: false, isDim: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
  27: { isInverse: false },
  29: { isStruck: false },
  39: { fg: null },
  49: { bg: null },
};

/** The style after the sequence `CSI … m`. Unknown codes change nothing. */
export function restyled(before: AnsiStyle, parameters: string): AnsiStyle {
  const codes = parameters.split(';').map(part => part.split(':').map(Number));
  let style = before;
  for (let at = 0; at < codes.length; at++) {
    const [code = 0, ...more] = codes[at]!;
    if (code === 38 || code === 48) {
      // Colour values follow in the same part, separated by colons, or in the next parts.
      const rest = more.length > 0 ? more : codes.slice(at + 1).map(([value = 0]) => value);
      const { colour, used } = extendedColour(rest, more.length > 4);
      if (more.length === 0) at += used;
      if (colour !== null) style = { ...style, [code === 38 ? 'fg' : 'bg']: colour };
    } else if (code === 4 && more[0] === 0) style = { ...style, isUnderlined: false };
    else style = code === 0 ? PLAIN_STYLE : { ...style, ...(ON[code] ?? themeColour(code)) };
  }
  return style;
}

function themeColour(code: number): Partial<AnsiStyle> {
  if (code >= 30 && code <= 37) return { fg: String(code - 30) };
  if (code >= 40 && code <= 47) return { bg: String(code - 40) };
  if (code >= 90 && code <= 97) return { fg: String(code - 82) };
  if (code >= 100 && code <= 107) return { bg: String(code - 92) };
  return {};
}

function extendedColour(rest: number[], hasSpace: boolean): { colour: string | null; used: number } {
  if (rest[0] === 5) return { colour: indexed(rest[1] ?? -1), used: 2 };
  if (rest[0] !== 2) return { colour: null, used: 0 };
  // In the form with colons, a colour space may come before the colour values.
  const parts = hasSpace ? rest.slice(2, 5) : rest.slice(1, 4);
  const isColour = parts.length === 3 && parts.every(part => part >= 0 && part <= 255);
  return { colour: isColour ? hex(parts) : null, used: 4 };
}

function indexed(number: number): string | null {
  if (!Number.isInteger(number) || number < 0 || number > 255) return null;
  if (number < 16) return String(number);
  if (number >= 232) return hex(Array(3).fill(8 + (number - 232) * 10));
  const cube = number - 16;
  return hex(
    [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level => level && 55 + level * 40),
  );
}

const hex = (parts: number[]): string =>
  `#${parts.map(part => Math.trunc(part).toString(16).padStart(2, '0')).join('')}`;
