import { BLANK, type MarkdownLine, titleOf } from '../../base/markdown-lines.ts';
import { type Outline, type Section, wholeSection } from '../../base/markdown-outline.ts';

/** The part of a plan that is being worked on, under the headings it stands under. */
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

/** First what the plan itself calls current, then where work is left, then the first that is not called done. */
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
const CURRENT = said('current|in[ -]progress|ongoing|active|doing|wip|now', '🚧|🔄|⏳');
const DONE = said('done|completed|finished|shipped|closed', '✅|✔|☑|\\[x\\]|(?<!not )\\bcomplete\\W*$');
/** "Current state" tells of the project; "Current" and "In progress" tell of the plan. */
const NOTHING_BUT_CURRENT =
  /^\W*(current(ly)?|in[ -]progress|ongoing|active|doing|now|wip)( (work|tasks?|focus))?\W*$/iu;
const STATUS_LINE = /^[\s>*_-]*(status|state)\b[\s:*_]*(.*)$/i;

/** What the plan says of the section: in its heading, or in a line "Status: …" under it. */
function saidOf({ heading, own }: Section): string[] {
  const statuses = own.slice(0, 8).map(({ text }) => STATUS_LINE.exec(text.slice(0, 200))?.[2] ?? '');
  return [titleOf(heading), ...statuses];
}

const isCurrent = (section: Section): boolean => saidOf(section).some(words => CURRENT.test(words));
const isDone = (section: Section): boolean => saidOf(section).some(words => DONE.test(words));

/** A word that is said of the section stands first, last or in brackets: "Phase 2: Active Directory" is not under way. */
function said(words: string, marks: string): RegExp {
  return new RegExp(`^\\W*(${words})\\b|[([]\\s*(${words})\\b|(?<!not )\\b(${words})\\W*$|${marks}`, 'iu');
}

const hasWorkLeft = (section: Section): boolean =>
  wholeSection(section).some(({ kind, text }) => kind === 'text' && /^\s*([-*+]|\d+[.)])\s+\[ \]/.test(text));
