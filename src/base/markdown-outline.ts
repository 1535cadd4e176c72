import { BLANK, type MarkdownLine, textLine } from './markdown-lines.ts';

export interface Section {
  heading: MarkdownLine;
  /** Up to the next heading, of whatever level. */
  own: MarkdownLine[];
  /** The sections below this one, at any depth. */
  below: Section[];
}

export interface Outline {
  /** The one heading above all others, where there is one. */
  title: MarkdownLine | null;
  /** What stands before the first section. */
  opening: MarkdownLine[];
  /** Every section in the order of the file, those below others too. */
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

/** The sections that lie in no other. */
export function topSections({ sections }: Outline): Section[] {
  const inner = new Set(sections.flatMap(({ below }) => below));
  return sections.filter(section => !inner.has(section));
}

/** A section as it stands in the file. */
export const wholeSection = (section: Section): MarkdownLine[] =>
  [section, ...section.below].flatMap(({ heading, own }) => [heading, ...own]);

export interface ExcerptSize {
  lines: number;
  bytes: number;
}

/** The first blocks of some text, whole lines only, with a line that says when there was more. */
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
    // Inside a block of code there is no place to stop.
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
