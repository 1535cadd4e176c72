import {
  BLANK,
  type ExcerptSize,
  excerpt,
  type MarkdownLine,
  type Outline,
  outline,
  readMarkdown,
  type Section,
  textLine,
  titleOf,
  topSections,
  wholeSection,
} from '../../base/markdown.ts';
import { oneLine } from '../../base/text.ts';

/** The part of a plan that is being worked on, with the headings above it. */
export function currentIteration(document: Outline): MarkdownLine[] {
  const { title, opening, sections } = document;
  const head = title ? [title, BLANK] : [];
  const current = choose(sections);
  if (!current) return [...head, ...opening];
  const above = sections
    .filter(({ below }) => below.includes(current))
    .flatMap(({ heading }) => [heading, BLANK]);
  return [...head, ...above, ...wholeSection(current)];
}

/** First what the plan calls current, then a section with open tasks, then the first that is not called done. */
function choose(sections: readonly Section[]): Section | undefined {
  const iterations = sections.filter(({ heading }) => ITERATION.test(titleOf(heading)));
  const open = (among: readonly Section[]) => among.filter(section => !isDone(section));
  return (
    iterations.find(section => isCurrent(section) && !isDone(section)) ??
    sections.find(({ heading }) => NOTHING_BUT_CURRENT.test(titleOf(heading))) ??
    open(iterations).find(hasWorkLeft) ??
    (iterations.length === 0 ? open(sections).find(hasWorkLeft) : undefined) ??
    open(iterations)[0] ??
    iterations[0] ??
    sections[0]
  );
}

const ITERATION =
  /\b(iteration|phase|milestone|sprint)\b|\b(stage|step|week|version|release|epic|part)\W{0,3}\d|\bv\d+\.\d/i;
const CURRENT = statusPattern('current|in[ -]progress|ongoing|active|doing|wip|now', '🚧|🔄|⏳');
const DONE = statusPattern(
  'done|completed|finished|shipped|closed',
  '✅|✔|☑|\\[x\\]|(?<!not )\\bcomplete\\W*$',
);
/** "Current state" is about the project; "Current" and "In progress" are about the plan. */
const NOTHING_BUT_CURRENT =
  /^\W*(current(ly)?|in[ -]progress|ongoing|active|doing|now|wip)( (work|tasks?|focus))?\W*$/iu;
const STATUS_LINE = /^[\s>*_-]*(status|state)\b[\s:*_]*(.*)$/i;

/** The status of a section: from its heading, or from a line "Status: …" below it. */
function statusTexts({ heading, own }: Section): string[] {
  const statuses = own.slice(0, 8).map(({ text }) => STATUS_LINE.exec(text.slice(0, 200))?.[2] ?? '');
  return [titleOf(heading), ...statuses];
}

const isCurrent = (section: Section): boolean => statusTexts(section).some(text => CURRENT.test(text));
const isDone = (section: Section): boolean => statusTexts(section).some(text => DONE.test(text));

/** A status word stands first, last or in brackets: "Phase 2: Active Directory" is not active. */
function statusPattern(terms: string, marks: string): RegExp {
  return new RegExp(`^\\W*(${terms})\\b|[([]\\s*(${terms})\\b|(?<!not )\\b(${terms})\\W*$|${marks}`, 'iu');
}

const hasWorkLeft = (section: Section): boolean =>
  wholeSection(section).some(({ kind, text }) => kind === 'text' && /^\s*([-*+]|\d+[.)])\s+\[ \]/.test(text));

export type ContextHow = 'whole' | 'summary' | 'current iteration' | 'overview';

/** The part of a file that goes into a context. Every line is from the file, except marks that something was left out. */
export function digestOf(file: string, text: string): { how: ContextHow; lines: MarkdownLine[] } {
  const lines = readMarkdown(text);
  const how = howOf(file);
  return { how, lines: how === 'whole' ? lines : DIGESTS[how](outline(lines)) };
}

/** By file name, in any folder; other files are included whole. */
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

/** Headings below which a requirements document states its goals. */
const GOAL_HEADING =
  /\b(goals?|objectives?|requirements?|problem|vision|purpose|scope|success|acceptance|constraints?|user stor(y|ies)|features?|summary|overview)\b/i;

function summary(document: Outline): MarkdownLine[] {
  const telling = document.sections.filter(({ heading }) => GOAL_HEADING.test(titleOf(heading)));
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
