import { BLANK, type MarkdownLine, readMarkdown, textLine, titleOf } from '../../base/markdown-lines.ts';
import {
  type ExcerptSize,
  excerpt,
  type Outline,
  outline,
  type Section,
  topSections,
} from '../../base/markdown-outline.ts';
import { oneLine } from '../../base/one-line.ts';
import { currentIteration } from './plan-iteration.ts';

export type ContextHow = 'whole' | 'summary' | 'current iteration' | 'overview';

/** What of a file goes into a context. Every line is the file's own, except marks that something was left out. */
export function digestOf(file: string, text: string): { how: ContextHow; lines: MarkdownLine[] } {
  const lines = readMarkdown(text);
  const how = howOf(file);
  return { how, lines: how === 'whole' ? lines : DIGESTS[how](outline(lines)) };
}

/** By its name, in whatever folder; a file we know nothing about goes in whole. */
export function howOf(file: string): ContextHow {
  return HOW[file.slice(file.lastIndexOf('/') + 1).toUpperCase()] ?? 'whole';
}

const HOW: Record<string, ContextHow> = Object.assign(Object.create(null), {
  'PRD.MD': 'summary',
  'PLAN.MD': 'current iteration',
  'ARCHITECTURE.MD': 'overview',
});

const DIGESTS: Record<Exclude<ContextHow, 'whole'>, (document: Outline) => MarkdownLine[]> = {
  summary,
  overview,
  'current iteration': currentIteration,
};

const OPENING: ExcerptSize = { lines: 14, bytes: 1_600 };
const SECTION: ExcerptSize = { lines: 10, bytes: 900 };
const SUBSECTION: ExcerptSize = { lines: 3, bytes: 300 };

/** Headings under which a requirements document says what is to be reached. */
const TELLING =
  /\b(goals?|objectives?|requirements?|problem|vision|purpose|scope|success|acceptance|constraints?|user stor(y|ies)|features?|summary|overview)\b/i;

function summary(document: Outline): MarkdownLine[] {
  const telling = document.sections.filter(({ heading }) => TELLING.test(titleOf(heading)));
  if (telling.length === 0) return overview(document);
  const inner = new Set(telling.flatMap(({ below }) => below));
  const shown = new Set(telling.filter(section => !inner.has(section)));
  const others = topSections(document).filter(
    section => !shown.has(section) && !section.below.some(below => shown.has(below)),
  );
  return [
    ...opening(document),
    ...[...shown].flatMap(section => [
      ...briefly(section, SECTION),
      ...section.below
        .filter(({ heading }) => heading.level === section.heading.level + 1)
        .flatMap(below => briefly(below, SUBSECTION)),
    ]),
    ...(others.length === 0 ? [] : [textLine(`Also in the file: ${oneLine(titles(others), 400)}.`)]),
  ];
}

function overview(document: Outline): MarkdownLine[] {
  return [...opening(document), ...topSections(document).flatMap(section => briefly(section, SECTION))];
}

function opening({ title, opening: lines }: Outline): MarkdownLine[] {
  return [...(title ? [title, BLANK] : []), ...spaced(excerpt(lines, OPENING))];
}

function briefly({ heading, own }: Section, size: ExcerptSize): MarkdownLine[] {
  return [heading, BLANK, ...spaced(excerpt(own, size))];
}

const spaced = (lines: MarkdownLine[]): MarkdownLine[] => (lines.length === 0 ? [] : [...lines, BLANK]);
const titles = (sections: Section[]): string => sections.map(({ heading }) => titleOf(heading)).join('; ');
