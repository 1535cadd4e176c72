import type { MarkdownLine } from '../../base/markdown.ts';
import { isCode, plainWords, teamLines } from './team-markdown.ts';

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

/** `**By:** x`, `**By**: x`, `By: x`, with or without a mark of a list or a quote before it. */
const FIELD =
  /^\s{0,3}(?:[-*+>]\s+)?(\*\*|__)?\s?([A-Za-z][A-Za-z /-]{0,30})(\*\*|__)?:\s?(\*\*|__)?(?:\s+|$)(.*)$/s;

interface Field {
  /** Null for one that is not ours: it ends the one before it all the same. */
  name: FieldName | null;
  value: string;
}

/** Null for a line that is only text. A name that is not ours counts only when it is in bold. */
export function fieldIn(line: string): Field | null {
  const [, open, label, closeBefore, closeAfter, value = ''] = FIELD.exec(line) ?? [];
  if (label === undefined) return null;
  const isBold = open !== undefined && (closeBefore ?? closeAfter) === open;
  if (!isBold && (open ?? closeBefore ?? closeAfter) !== undefined) return null;
  const name = fieldNamed(label);
  return name === null && !isBold ? null : { name, value };
}

export function fieldNamed(label: string): FieldName | null {
  const name = plainWords(label).replace(/:$/, '').toLowerCase();
  return Object.hasOwn(NAMES, name) ? NAMES[name]! : null;
}

export interface NewDecision {
  title: string;
  what: string;
  why: string;
  /** Who records it, as people read it: a role and its run, or the user. */
  by: string;
  /** What stands for them in the name of the file. */
  author: string;
}

/** Longer than anybody will read, shorter than anything that hurts. */
const MAX_LENGTH = { title: 200, text: 8_000, by: 120, slug: 48 };

/** A decision as the file that holds it: nobody's words in it can be taken for another entry or another author. */
export function decisionText({ title, what, why, by }: NewDecision, at: Date): string {
  return [
    `### ${at.toISOString().slice(0, 19)}Z: ${headingWords(title)}`,
    '',
    `**By:** ${oneLineOf(by, MAX_LENGTH.by)}`,
    '',
    `**What:** ${asBody(what)}`,
    '',
    `**Why:** ${asBody(why)}`,
    '',
  ].join('\n');
}

/** Without its ending, so that a number can come between. */
export function decisionFileName({ title, author }: NewDecision, at: Date): string {
  const parts = [at.toISOString().slice(0, 10), slug(author, 32), slug(title, MAX_LENGTH.slug)];
  return parts.filter(part => part !== '').join('-');
}

export const headingWords = (title: string): string =>
  oneLineOf(title.replace(/^[\s#]+/, ''), MAX_LENGTH.title)
    .replace(/\s+#+$/, '')
    .trim() || '(no title)';

/** Letters and digits, so that it is a name on every disk. */
const slug = (text: string, most: number): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, most)
    .replace(/^-+|-+$/g, '');

/** Controls except tab and newline, separators of lines, and the marks that turn the reading direction. */
const NOT_SHOWN = /[^\P{Cc}\n\t]|[\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const oneLineOf = (text: string, most: number): string => {
  const line = clean(text).replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line;
};

/** A heading, a comment or the name of a field would change what the file says, and so would code that is never closed. */
function asBody(text: string): string {
  const whole = clean(text).trim().replaceAll('<!--', '&lt;!--');
  const kept =
    whole.length > MAX_LENGTH.text ? `${whole.slice(0, MAX_LENGTH.text - 1).toWellFormed()}…` : whole;
  const [first, ...rest] = teamLines(`\n${kept}`)
    .slice(1)
    .map(line => ({ line, text: harmless(line) }));
  if (!first) return '(not said)';
  // Code begins on a line of its own.
  return [`${isCode(first.line) ? '\n' : ''}${first.text}`, ...rest.map(each => each.text)].join('\n');
}

function harmless(line: MarkdownLine): string {
  if (isCode(line)) return line.text;
  if (line.kind === 'heading') return `\\${line.text}`;
  return fieldIn(line.text) ? line.text.replace(':', '\\:') : line.text;
}

const clean = (text: string): string => text.toWellFormed().replace(/\r\n?/g, '\n').replace(NOT_SHOWN, '');
