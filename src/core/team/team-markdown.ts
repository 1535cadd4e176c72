import { type MarkdownLine, readMarkdown, titleOf } from '../../base/markdown.ts';

interface TeamLine extends MarkdownLine {
  /** Line number in the file, from 0; for an underlined heading, its first line. */
  number: number;
}

export interface TeamSection {
  /** Level of the heading; 0 for the text above the first heading. */
  level: number;
  title: string;
  own: TeamLine[];
  /** First line of the section; it ends at the next heading. */
  start: number;
  end: number;
}

/**
 * A horizontal rule (`---`). Below a line of text Markdown would read it as an underline of a heading, but authors of
 * these files mean a rule.
 */
const RULE = /^ {0,3}-{3,}[ \t]*$/;
const HEADING = /^ {0,3}#{1,6}(?=[ \t]|$)/;

/** Splits a team file at its headings. Comments and frontmatter are for other programs and are left out. */
export function teamSections(text: string): TeamSection[] {
  const lines = teamLines(text);
  const sections: TeamSection[] = [{ level: 0, title: '', own: [], start: 0, end: 0 }];
  for (const line of lines) {
    if (line.kind === 'head' || line.kind === 'comment') continue;
    const current = sections.at(-1)!;
    if (line.kind !== 'heading') current.own.push(line);
    else {
      current.end = line.number;
      sections.push({ level: line.level, title: titleOf(line), own: [], start: line.number, end: 0 });
    }
  }
  sections.at(-1)!.end = lineStarts(text).length;
  return sections;
}

export function teamLines(text: string): TeamLine[] {
  const source = text.split(/\r\n|\n|\r/);
  const rows: string[] = [];
  const numbers: number[] = [];
  for (const [number, line] of source.entries()) {
    if (RULE.test(line) && number > 0 && source[number - 1] !== '') numbers[rows.push('') - 1] = number;
    numbers[rows.push(line) - 1] = number;
  }
  let at = 0;
  return readMarkdown(rows.join('\n')).map(({ kind, text: own, level, closing }) => {
    // Every line has a number, except the line that `readMarkdown` adds to close unclosed code.
    const number = numbers[at] ?? source.length;
    at += kind === 'heading' && !HEADING.test(rows[at] ?? '') ? 2 : 1;
    return { kind, text: own, level, closing, number };
  });
}

export const isCode = ({ kind }: MarkdownLine): boolean => kind === 'code' || kind === 'opens code';

/** The text without blank lines and rules at its beginning and end. */
export function trimmedText(lines: readonly string[]): string {
  const isText = (line: string) => line.trim() !== '' && !/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line);
  const first = lines.findIndex(isText);
  return first < 0 ? '' : lines.slice(first, lines.findLastIndex(isText) + 1).join('\n');
}

/** Text on one line, without Markdown marks for bold, code and links. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/!?\[([^\][]{0,500})\]\([^()\s]{0,2000}\)/g, '$1')
    .replace(/(\*\*|__|`+)/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Limits for a team's files, because anybody can write them and every hub reads them. */
export const MAX_BYTES = 1024 * 1024;
export const MAX_LINES = 40_000;
export const MAX_ENTRIES = 5_000;
export const MAX_NOTES = 50;

export interface Part {
  text: string;
  isCut: boolean;
}

/** The beginning of a text, cut after a whole line. */
export function firstLines(text: string, most: number): Part {
  const end = lineStarts(text)[most] ?? text.length;
  return { text: text.slice(0, end), isCut: end < text.length };
}

/** The end of a text, cut before a whole line. */
export function lastLines(text: string, most: number): Part {
  const start = lineStarts(text)
    .filter(at => at < text.length)
    .at(-most);
  return { text: text.slice(start ?? 0), isCut: (start ?? 0) > 0 };
}

export const countLines = (text: string): number => lineStarts(text).length;

/** After a cut the first entry may lack its beginning, so the text continues at the next heading of level 1 to 3. */
export function fromHeading({ text, isCut }: Part): Part {
  if (!isCut) return { text, isCut };
  const at = /^ {0,3}#{1,3}[ \t]/m.exec(text)?.index ?? lineStarts(text)[1];
  return { text: at === undefined ? '' : text.slice(at), isCut };
}

/** The offset of each line. A lone carriage return ends a line as well. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = 0; at < text.length; at++)
    if (text[at] === '\n' || (text[at] === '\r' && text[at + 1] !== '\n')) starts.push(at + 1);
  return starts;
}

const DAY = String.raw`\d{4}-\d{2}-\d{2}`;
const TIME = String.raw`T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?`;
const DATE = new RegExp(`(?<!\\d)(${DAY})(${TIME})?(?![\\d])`);
const AT_START = new RegExp(`^[[(]?${DAY}(?:${TIME})?[\\])]?\\s*(?:[:–—|-]\\s*)?`);
const AT_END = new RegExp(`\\s*[–—-]?\\s*[[(]?${DAY}(?:${TIME})?[\\])]?$`);

/** The first date in a text, as written. Null if there is none, or if it is not a valid date. */
export function dateIn(text: string): string | null {
  const [whole, day] = DATE.exec(text.slice(0, 500)) ?? [];
  if (whole === undefined || day === undefined) return null;
  const at = new Date(`${day}T00:00:00Z`);
  const isReal = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
  return isReal ? (Number.isNaN(Date.parse(whole)) ? day : whole) : null;
}

/** A heading without the date at its beginning or end, unless nothing else is left. */
export function withoutDate(title: string): string {
  const rest = title.replace(AT_START, '').replace(AT_END, '').trim();
  return rest === '' ? title : rest;
}

export const startsWithDate = (title: string): boolean => AT_START.test(title) && dateIn(title) !== null;
