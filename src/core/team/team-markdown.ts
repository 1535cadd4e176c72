import { type MarkdownLine, readMarkdown, titleOf } from '../../base/markdown.ts';

export interface TeamSection {
  /** 0 for what stands above the first heading. */
  level: number;
  title: string;
  own: MarkdownLine[];
}

/** A rule right under a line of text would make that line a heading; in these files people mean the rule. */
const RULE_UNDER_TEXT = /(?<=[^\n])\n( {0,3}-{3,}[ \t]*)(?=[\r\n]|$)/g;

/** A team file as headings and what stands under each. Comments and the head of the file are for other programs. */
export const teamSections = (text: string): TeamSection[] => sectionsOf(teamLines(text));

export function sectionsOf(lines: readonly MarkdownLine[]): TeamSection[] {
  const sections: TeamSection[] = [{ level: 0, title: '', own: [] }];
  for (const line of lines) {
    if (line.kind === 'head' || line.kind === 'comment') continue;
    if (line.kind === 'heading') sections.push({ level: line.level, title: titleOf(line), own: [] });
    else sections.at(-1)!.own.push(line);
  }
  return sections;
}

export const teamLines = (text: string): MarkdownLine[] =>
  readMarkdown(text.replace(/\r\n?/g, '\n').replace(RULE_UNDER_TEXT, '\n\n$1'));

export const isCode = ({ kind }: MarkdownLine): boolean => kind === 'code' || kind === 'opens code';

/** Without the blank lines and rules around it. */
export function trimmedText(lines: readonly string[]): string {
  const isSomething = (line: string) => line.trim() !== '' && !/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line);
  const first = lines.findIndex(isSomething);
  return first < 0 ? '' : lines.slice(first, lines.findLastIndex(isSomething) + 1).join('\n');
}

/** Words as a reader sees them, without the marks for bold, code and links. */
export function plainWords(text: string): string {
  return text
    .replace(/!?\[([^\][]{0,500})\]\([^()\s]{0,2000}\)/g, '$1')
    .replace(/(\*\*|__|`+)/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** What of a team's files is taken in. Anybody can write them, and everybody's hub reads them. */
export const MAX_BYTES = 1024 * 1024;
export const MAX_LINES = 40_000;
export const MAX_ENTRIES = 5_000;
export const MAX_NOTES = 50;

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

const DAY = String.raw`\d{4}-\d{2}-\d{2}`;
const TIME = String.raw`T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?`;
const DATE = new RegExp(`(?<!\\d)(${DAY})(${TIME})?(?![\\d])`);
const AT_START = new RegExp(`^[[(]?${DAY}(?:${TIME})?[\\])]?\\s*(?:[:–—|-]\\s*)?`);
const AT_END = new RegExp(`\\s*[–—-]?\\s*[[(]?${DAY}(?:${TIME})?[\\])]?$`);

/** The first date in a text, as it is written there; null without one that the calendar has. */
export function dateIn(text: string): string | null {
  const [whole, day] = DATE.exec(text.slice(0, 500)) ?? [];
  if (whole === undefined || day === undefined) return null;
  const at = new Date(`${day}T00:00:00Z`);
  const isReal = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
  return isReal ? (Number.isNaN(Date.parse(whole)) ? day : whole) : null;
}

/** A heading without the date at its beginning or end, when something is left of it. */
export function withoutDate(title: string): string {
  const rest = title.replace(AT_START, '').replace(AT_END, '').trim();
  return rest === '' ? title : rest;
}

export const startsWithDate = (title: string): boolean => AT_START.test(title) && dateIn(title) !== null;
