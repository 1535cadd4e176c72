import type { MarkdownLine } from '../../base/markdown.ts';
import { isCode, teamLines, withoutMarkup } from './team-markdown.ts';

export type FieldName = 'by' | 'what' | 'why' | 'date';

const NAMES: Readonly<Record<string, FieldName>> = {
  by: 'by',
  author: 'by',
  'decided by': 'by',
  'proposed by': 'by',
  what: 'what',
  decision: 'what',
  why: 'why',
  rationale: 'why',
  reason: 'why',
  date: 'date',
  when: 'date',
};

/** Matches `**By:** x`, `**By**: x` and `By: x`, also in a list or a quote. */
const FIELD =
  /^\s{0,3}(?:[-*+>]\s+)?(\*\*|__)?\s?([A-Za-z][A-Za-z /-]{0,30})(\*\*|__)?:\s?(\*\*|__)?(?:\s+|$)(.*)$/s;

interface Field {
  /** Name of the field. Null for an unknown name, which still ends the previous field. */
  name: FieldName | null;
  value: string;
}

/** Parses a field line. Null for a line of text. An unknown name counts as a field only in bold. */
export function fieldIn(line: string): Field | null {
  const [, open, label, closeBefore, closeAfter, value = ''] = FIELD.exec(line) ?? [];
  if (label === undefined) return null;
  const isBold = open !== undefined && (closeBefore ?? closeAfter) === open;
  if (!isBold && (open ?? closeBefore ?? closeAfter) !== undefined) return null;
  const name = fieldNamed(label);
  return name === null && !isBold ? null : { name, value };
}

export function fieldNamed(label: string): FieldName | null {
  const name = withoutMarkup(label).replace(/:$/, '').toLowerCase();
  return Object.hasOwn(NAMES, name) ? NAMES[name]! : null;
}

export interface NewDecision {
  title: string;
  what: string;
  why: string;
  /** Author for people: a role and its run, or the user. */
  by: string;
  /** Author for the file name. */
  author: string;
}

const MAX_LENGTH = { title: 200, text: 8_000, by: 120, slug: 48 };

/** The file of a decision. Its text is escaped, so that it cannot be read as another entry or author. */
export function decisionText({ title, what, why, by }: NewDecision, at: Date): string {
  return [
    `### ${at.toISOString().slice(0, 19)}Z: ${headingText(title)}`,
    '',
    `**By:** ${shortLine(by, MAX_LENGTH.by)}`,
    '',
    `**What:** ${asBody(what)}`,
    '',
    `**Why:** ${asBody(why)}`,
    '',
  ].join('\n');
}

/** File name without `.md`, so that a number can be added. */
export function decisionFileName({ title, author }: NewDecision, at: Date): string {
  const parts = [at.toISOString().slice(0, 10), slug(author, 32), slug(title, MAX_LENGTH.slug)];
  return parts.filter(part => part !== '').join('-');
}

export const headingText = (title: string): string =>
  shortLine(title.replace(/^[\s#]+/, ''), MAX_LENGTH.title)
    .replace(/\s+#+$/, '')
    .trim() || '(no title)';

/** Turns a text into letters and digits only, which are valid on every file system. */
const slug = (text: string, most: number): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, most)
    .replace(/^-+|-+$/g, '');

/** Controls except tab and newline, line separators, and marks that change the reading direction. */
const HIDDEN = /[^\P{Cc}\n\t]|[\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const shortLine = (text: string, most: number): string => {
  const line = clean(text).replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line;
};

/** Escapes what would change the meaning of the file: headings, comments, field names and unclosed code. */
function asBody(text: string): string {
  const whole = clean(text).trim().replaceAll('<!--', '&lt;!--');
  const kept =
    whole.length > MAX_LENGTH.text ? `${whole.slice(0, MAX_LENGTH.text - 1).toWellFormed()}…` : whole;
  const [first, ...rest] = teamLines(`\n${kept}`)
    .slice(1)
    .map(line => ({ line, text: escaped(line) }));
  if (!first) return '(not given)';
  // Code must begin on a separate line.
  return [`${isCode(first.line) ? '\n' : ''}${first.text}`, ...rest.map(each => each.text)].join('\n');
}

function escaped(line: MarkdownLine): string {
  if (isCode(line)) return line.text;
  if (line.kind === 'heading') return `\\${line.text}`;
  return fieldIn(line.text) ? line.text.replace(':', '\\:') : line.text;
}

const clean = (text: string): string => text.toWellFormed().replace(/\r\n?/g, '\n').replace(HIDDEN, '');
