export interface MarkdownLine {
  /** `head` is YAML frontmatter. It is treated as a block of code and recognised only at the very top of a file. */
  kind: 'head' | 'text' | 'blank' | 'heading' | 'code' | 'opens code' | 'comment';
  text: string;
  /** Level of the heading, from 1 to 6. 0 for a line that is no heading. */
  level: number;
  /** The line that would close the code or comment that is open after this line. Null when none is open. */
  closing: string | null;
}

/**
 * Parses Markdown as far as needed to cut it without breaking it: headings, fenced code and comments. Underlined
 * headings are converted to `#` headings, and code or comments that are never closed are closed at the end.
 */
export function readMarkdown(text: string): MarkdownLine[] {
  const source = text.split(/\r\n|\n|\r/);
  const headEnd =
    source[0]?.trimEnd() === '---' ? source.findIndex((line, at) => at > 0 && line.trimEnd() === '---') : -1;
  const lines = headLines(source.slice(0, headEnd + 1));
  let closing: string | null = null;
  for (const line of source.slice(headEnd + 1)) {
    if (closing !== null) {
      const kind = closing === COMMENT_END ? 'comment' : 'code';
      if (closes(line, closing)) closing = null;
      lines.push({ kind, text: line, level: 0, closing });
      continue;
    }
    closing = fenceOf(line);
    if (closing !== null) lines.push({ kind: 'opens code', text: line, level: 0, closing });
    else if (COMMENT_START.test(line)) {
      closing = line.includes(COMMENT_END) ? null : COMMENT_END;
      lines.push({ kind: 'comment', text: line, level: 0, closing });
    } else if (line.trim() === '') lines.push(BLANK);
    else if (!underlines(line, lines.at(-1))) lines.push(headingOf(line) ?? textLine(line));
    else lines[lines.length - 1] = headingLine(line.includes('=') ? 1 : 2, lines.at(-1)!.text.trim());
  }
  if (closing !== null)
    lines.push({
      kind: closing === COMMENT_END ? 'comment' : 'code',
      text: closing,
      level: 0,
      closing: null,
    });
  return lines;
}

const COMMENT_START = /^ {0,3}<!--/;
const COMMENT_END = '-->';

export const BLANK: MarkdownLine = { kind: 'blank', text: '', level: 0, closing: null };
export const textLine = (text: string): MarkdownLine => ({ kind: 'text', text, level: 0, closing: null });
export const headingLine = (level: number, title: string): MarkdownLine => ({
  kind: 'heading',
  text: `${'#'.repeat(level)} ${title}`.trimEnd(),
  level,
  closing: null,
});
export const titleOf = (heading: MarkdownLine): string => heading.text.slice(heading.level).trim();

function headLines(source: readonly string[]): MarkdownLine[] {
  const runs = source.flatMap(line => line.match(/`+/g) ?? []);
  const fence = runs.reduce((longest, run) => (run.length >= longest.length ? `${run}\`` : longest), '```');
  return source.map((line, at) => {
    const isEnd = at === source.length - 1;
    const text = at === 0 ? `${fence}yaml` : isEnd ? fence : line;
    return { kind: 'head', text, level: 0, closing: isEnd ? null : fence };
  });
}

function headingOf(line: string): MarkdownLine | null {
  const marks = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line);
  if (!marks) return null;
  const title = line.slice(marks[0].length).trim();
  return headingLine(marks[1]!.length, /^#+$/.test(title) ? '' : title.replace(/\s#+$/, '').trim());
}

/** Finds a code fence at any indentation, because code in a list item is indented as deep as the item. */
function fenceOf(line: string): string | null {
  const [, indent, fence] = /^([ \t]*)(`{3,}|~{3,})/.exec(line) ?? [];
  if (indent === undefined || fence === undefined) return null;
  // With another backtick on the same line, backticks mean inline code, not a fence.
  const isInline = fence[0] === '`' && line.slice(indent.length + fence.length).includes('`');
  return isInline ? null : indent + fence;
}

function closes(line: string, closing: string): boolean {
  if (closing === COMMENT_END) return line.includes(COMMENT_END);
  const mark = line.trim();
  const fence = closing.trim();
  return mark.length >= fence.length && mark === fence[0]!.repeat(mark.length);
}

function underlines(line: string, above: MarkdownLine | undefined): boolean {
  if (above?.kind !== 'text' || !/^ {0,3}(=+|-{3,})\s*$/.test(line)) return false;
  // Below a list, a quote or a table, dashes are a rule, not an underlined heading.
  return !/^\s*([-*+>|]|\d+[.)])/.test(above.text);
}

export interface Section {
  heading: MarkdownLine;
  /** Lines up to the next heading of any level. */
  own: MarkdownLine[];
  /** Sections below this one, at any depth. */
  below: Section[];
}

export interface Outline {
  /** The only heading of the highest level, if there is one. */
  title: MarkdownLine | null;
  /** Text before the first section. */
  opening: MarkdownLine[];
  /** Every section in the order of the file, including those below others. */
  sections: Section[];
}

export function outline(source: readonly MarkdownLine[]): Outline {
  const lines = source.filter(({ kind }) => kind !== 'head' && kind !== 'comment');
  const first = lines.findIndex(({ kind }) => kind === 'heading');
  const opening = first < 0 ? [...lines] : lines.slice(0, first);
  const sections: Section[] = [];
  for (const line of first < 0 ? [] : lines.slice(first)) {
    if (line.kind === 'heading') sections.push({ heading: line, own: [], below: [] });
    else sections.at(-1)!.own.push(line);
  }
  sections.forEach((section, at) => {
    let end = at + 1;
    while (end < sections.length && sections[end]!.heading.level > section.heading.level) end++;
    section.below = sections.slice(at + 1, end);
  });
  const [top, ...others] = sections;
  const isTitle = top !== undefined && others.every(({ heading }) => heading.level > top.heading.level);
  return isTitle
    ? { title: top.heading, opening: [...opening, ...top.own], sections: others }
    : { title: null, opening, sections };
}

/** Sections that are not inside another section. */
export function topSections({ sections }: Outline): Section[] {
  const inner = new Set(sections.flatMap(({ below }) => below));
  return sections.filter(section => !inner.has(section));
}

/** All lines of a section, including the sections below it. */
export const wholeSection = (section: Section): MarkdownLine[] =>
  [section, ...section.below].flatMap(({ heading, own }) => [heading, ...own]);

export interface ExcerptSize {
  lines: number;
  bytes: number;
}

/** The first blocks of a text in whole lines, with a line that says whether there was more. */
export function excerpt(lines: readonly MarkdownLine[], size: ExcerptSize): MarkdownLine[] {
  const taken: MarkdownLine[] = [];
  let bytes = 0;
  let whole = 0;
  for (const line of lines) {
    if (taken.length === 0 && line.kind === 'blank') continue;
    bytes += Buffer.byteLength(line.text) + 1;
    if (taken.length >= size.lines || (taken.length > 0 && bytes > size.bytes))
      return shortened(taken, whole);
    taken.push(line);
    // Inside a block of code the text cannot be cut.
    if (line.closing === null) whole = taken.length;
  }
  return withoutBlankEnd(taken);
}

function shortened(taken: readonly MarkdownLine[], whole: number): MarkdownLine[] {
  const kept = withoutBlankEnd(taken.slice(0, whole));
  return kept.length === 0 ? [] : [...kept, BLANK, textLine('…')];
}

function withoutBlankEnd(lines: readonly MarkdownLine[]): MarkdownLine[] {
  return lines.slice(0, lines.findLastIndex(({ kind }) => kind !== 'blank') + 1);
}
