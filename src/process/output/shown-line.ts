// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for
const COLOURS = /\u001b\[[\d;:]*m/g;

/** Text without colours; all other sequences stay, because views show them. */
export const withoutColours = (text: string): string =>
  text.includes('\u001b') ? text.replace(COLOURS, '') : text;

/** A line as the output view shows it, without its line end. */
export const shownLine = (line: string): string => withoutColours(line).replace(/\r$/, '');
