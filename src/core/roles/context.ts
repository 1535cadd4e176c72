import {
  BLANK,
  type ExcerptSize,
  excerpt,
  headingLine,
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

/** The current section of a plan, with the headings above it. */
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

/**
 * Chooses the section that the plan calls current, or else one with open tasks, or else the first that is not marked
 * as done.
 */
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
/** "Current state" describes the project, while "Current" and "In progress" describe the plan. */
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

/** A status word must be first, last or in brackets: "Phase 2: Active Directory" is not active. */
function statusPattern(terms: string, marks: string): RegExp {
  return new RegExp(`^\\W*(${terms})\\b|[([]\\s*(${terms})\\b|(?<!not )\\b(${terms})\\W*$|${marks}`, 'iu');
}

const hasWorkLeft = (section: Section): boolean =>
  wholeSection(section).some(({ kind, text }) => kind === 'text' && /^\s*([-*+]|\d+[.)])\s+\[ \]/.test(text));

type ContextHow = 'whole' | 'summary' | 'current iteration' | 'overview';

/**
 * The part of a file that goes into a context. Every line comes from the file, except notices that something was left
 * out.
 */
export function digestOf(file: string, text: string): { how: ContextHow; lines: MarkdownLine[] } {
  const lines = readMarkdown(text);
  const how = howOf(file);
  return { how, lines: how === 'whole' ? lines : DIGESTS[how](outline(lines)) };
}

/** How a file is shortened, chosen by its name in any folder. A file with an unknown name is included whole. */
function howOf(file: string): ContextHow {
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

/** Headings under which a requirements document lists its goals. */
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

/** Decides which files are left out, and why. */
export function exclusionReason(
  files: readonly FoundFile[],
  loadedByEngine: readonly string[],
): Map<string, string> {
  const loaded = loadedFiles(files, loadedByEngine);
  const isLast = (found: FoundFile) => (loaded.has(found.file) ? 0 : 1);
  const reasons = new Map<string, string>();
  const wholeFiles = new Map<string, string>();
  // Files that the engine reads itself come first, so that an identical file is recognised as a copy.
  for (const found of [...files].sort((a, b) => isLast(a) - isLast(b))) {
    const { file } = found;
    const twin =
      'text' in found && howOf(file) === 'whole' ? wholeFiles.get(contentOf(found.text)) : undefined;
    const reason = loaded.get(file) ?? ('fault' in found ? `it ${found.fault}` : faultOf(found.text, twin));
    if (reason !== null) reasons.set(file, reason);
    if ('text' in found && twin === undefined && howOf(file) === 'whole')
      wholeFiles.set(contentOf(found.text), file);
  }
  return reasons;
}

function faultOf(text: string, twin: string | undefined): string | null {
  if (text.trim() === '') return 'it is empty';
  return twin === undefined ? null : `it is identical to ${twin}`;
}

function loadedFiles(files: readonly FoundFile[], loadedByEngine: readonly string[]): Map<string, string> {
  const loaded = new Map(loadedByEngine.map(file => [file, 'the engine reads it by itself']));
  const guide = files.find(({ file }) => file === 'CLAUDE.md');
  if (guide && 'text' in guide && loaded.has(guide.file))
    for (const file of importsOf(guide.text))
      if (!loaded.has(file)) loaded.set(file, `the engine reads it by itself: ${guide.file} includes it`);
  return loaded;
}

/** A line `@AGENTS.md` in CLAUDE.md includes that file. */
function importsOf(text: string): string[] {
  return readMarkdown(text)
    .filter(({ kind }) => kind === 'text')
    .flatMap(line => /^@(?:\.\/)?(\S+)$/.exec(line.text.trim())?.[1] ?? []);
}

const contentOf = (text: string): string => text.replace(/\r\n?/g, '\n').trim();

/**
 * Returns as many whole lines as fit. A cut text ends with `notice`, but never inside a code block or with a heading
 * that has nothing below it. Null if not a single line fits.
 */
function fitLines(
  source: readonly MarkdownLine[],
  bytes: number,
  notice: string,
): { text: string; cut: boolean } | null {
  const lines = withoutBlankEnds(source);
  if (lines.length === 0) return null;
  if (sizeOf(lines) <= bytes) return { text: lines.map(({ text }) => text).join('\n'), cut: false };

  const room = bytes - Buffer.byteLength(`\n\n${notice}`);
  let used = 0;
  let count = 0;
  for (const [at, line] of lines.entries()) {
    used += Buffer.byteLength(line.text) + (at > 0 ? 1 : 0);
    if (used > room) break;
    const closing = line.closing === null ? 0 : Buffer.byteLength(`\n${line.closing}`);
    if (used + closing <= room && mayBeLast(line)) count = at + 1;
  }
  const last = lines[count - 1];
  if (!last) return null;
  const kept = lines.slice(0, count).map(({ text }) => text);
  if (last.closing !== null) kept.push(last.closing);
  return { text: `${kept.join('\n')}\n\n${notice}`, cut: true };
}

const mayBeLast = ({ kind }: MarkdownLine): boolean => kind === 'text' || kind === 'code' || kind === 'head';

const sizeOf = (lines: readonly MarkdownLine[]): number =>
  lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, -1);

function withoutBlankEnds(lines: readonly MarkdownLine[]): readonly MarkdownLine[] {
  const isSomething = ({ text }: MarkdownLine) => text.trim() !== '';
  const first = lines.findIndex(isSomething);
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex(isSomething) + 1);
}

/** A file of the workspace with its path from the root, or why it cannot be read. */
export type FoundFile = { file: string; text: string } | { file: string; fault: string };

interface ContextOptions {
  budgetTokens?: number;
  /** Files that the engine reads by itself. Sending them too would cost their tokens twice. */
  loadedByEngine?: readonly string[];
}

interface ContextPart {
  file: string;
  how: ContextHow;
  tokens: number;
  /** True if the file did not fit completely. */
  cut: boolean;
}

export interface Context {
  text: string;
  tokens: number;
  budgetTokens: number;
  parts: ContextPart[];
  leftOut: { file: string; reason: string }[];
}

export const DEFAULT_CONTEXT_TOKENS = 4_000;

/** Squad counts four bytes of UTF-8 as one token everywhere. */
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
const BYTES_PER_TOKEN = 4;

/**
 * Shares the budget so that no file crowds out the others: each file gets a share by its weight and takes at most
 * what it needs. Unused shares go to the other files.
 */
export function buildContext(files: readonly FoundFile[], options: ContextOptions = {}): Context {
  const { budgetTokens = DEFAULT_CONTEXT_TOKENS, loadedByEngine = [] } = options;
  const reasons = exclusionReason(files, loadedByEngine);
  const drafts = files.flatMap(found =>
    'text' in found && !reasons.has(found.file) ? [draftOf(found)] : [],
  );

  let bytesLeft = Math.max(0, Math.floor(budgetTokens)) * BYTES_PER_TOKEN;
  let weightLeft = drafts.reduce((sum, { weight }) => sum + weight, 0);
  const fitted = new Map<Draft, { text: string; cut: boolean }>();
  // Files with the smallest need per weight come first, so that every unused share reaches files that need more.
  for (const draft of [...drafts].sort((a, b) => a.need / a.weight - b.need / b.weight)) {
    const share = Math.floor((bytesLeft * draft.weight) / weightLeft);
    weightLeft -= draft.weight;
    const part = partOf(draft, share - SEPARATOR.length);
    if (part === null) {
      reasons.set(
        draft.file,
        draft.need === 0 ? 'it is empty' : `it does not fit into the budget of ${budgetTokens} tokens`,
      );
      continue;
    }
    fitted.set(draft, part);
    bytesLeft -= Buffer.byteLength(part.text) + SEPARATOR.length;
  }

  // Puts the texts back into the order of the files.
  const texts = drafts.flatMap(draft => fitted.get(draft)?.text ?? []);
  const text = texts.join(SEPARATOR);
  return {
    text,
    tokens: tokensOf(text),
    budgetTokens,
    parts: drafts.flatMap(draft => {
      const part = fitted.get(draft);
      return part ? [{ file: draft.file, how: draft.how, tokens: tokensOf(part.text), cut: part.cut }] : [];
    }),
    leftOut: files.flatMap(({ file }) => {
      const reason = reasons.get(file);
      return reason === undefined ? [] : [{ file, reason }];
    }),
  };
}

const SEPARATOR = '\n\n';

interface Draft {
  file: string;
  how: ContextHow;
  lines: MarkdownLine[];
  weight: number;
  /** Size of the whole text in bytes. */
  need: number;
}

/** Weights of files. Rules should be read whole, while digests are already short. */
const WEIGHT: Record<ContextHow, number> = { whole: 3, 'current iteration': 2, summary: 1, overview: 1 };

function draftOf({ file, text }: { file: string; text: string }): Draft {
  const { how, lines } = digestOf(file, text);
  const draft: Draft = { file, how, lines: lines.map(lowered), weight: WEIGHT[how], need: 0 };
  return { ...draft, need: Buffer.byteLength(partOf(draft, Number.POSITIVE_INFINITY)?.text ?? '') };
}

/**
 * Moves a heading one level down, below the heading that names the file, so that no file can open a section of the
 * prompt.
 */
function lowered(line: MarkdownLine): MarkdownLine {
  return line.kind === 'heading' ? headingLine(Math.min(6, line.level + 1), titleOf(line)) : line;
}

function partOf({ file, how, lines }: Draft, bytes: number): { text: string; cut: boolean } | null {
  const name = oneLine(file, 200);
  const heading = `# Project context: ${name} (${how})\n\n`;
  const fitted = fitLines(
    lines,
    bytes - Buffer.byteLength(heading),
    `[Cut here to fit: the rest is in ${name}]`,
  );
  return fitted && { text: heading + fitted.text, cut: fitted.cut };
}
