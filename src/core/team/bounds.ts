/** What of a team's files is taken in. Anybody can write them, and everybody's hub reads them. */
export const MOST_BYTES = 1024 * 1024;
export const MOST_LINES = 40_000;
export const MOST_ENTRIES = 5_000;
export const MOST_NOTES = 50;

export interface Part {
  text: string;
  isCut: boolean;
}

/** The beginning of a text, in whole lines. */
export function firstLines(text: string, most: number): Part {
  let end = 0;
  for (let lines = 0; lines < most; lines++) {
    const at = nextLine(text, end);
    if (at < 0) return { text, isCut: false };
    end = at;
  }
  return end >= text.length ? { text, isCut: false } : { text: text.slice(0, end), isCut: true };
}

/** The end of a text, in whole lines. */
export function lastLines(text: string, most: number): Part {
  let start = text.length;
  for (let lines = 0; lines < most; lines++) {
    const at = lineBefore(text, start);
    if (at <= 0) return { text, isCut: false };
    start = at;
  }
  return { text: text.slice(start), isCut: true };
}

export function countLines(text: string): number {
  let lines = 1;
  for (let at = nextLine(text, 0); at >= 0; at = nextLine(text, at)) lines++;
  return lines;
}

/** What is left of an entry whose beginning was cut off belongs to nobody: from the next heading of level three or above on. */
export function fromHeading({ text, isCut }: Part): Part {
  if (!isCut) return { text, isCut };
  const at = /^ {0,3}#{1,3}[ \t]/m.exec(text)?.index ?? nextLine(text, 0);
  return { text: at < 0 ? '' : text.slice(at), isCut };
}

/** Where the line after the one at `from` begins; -1 without one. A lone carriage return ends a line as well. */
function nextLine(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if (sign === '\n') return at + 1;
    if (sign === '\r') return text[at + 1] === '\n' ? at + 2 : at + 1;
  }
  return -1;
}

/** Where the line begins that ends right before `before`. */
function lineBefore(text: string, before: number): number {
  // The end of that line itself.
  let at = before - 1;
  if (text[at] === '\n' && text[at - 1] === '\r') at--;
  while (at > 0 && text[at - 1] !== '\n' && text[at - 1] !== '\r') at--;
  return at;
}
