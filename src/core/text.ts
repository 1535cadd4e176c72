import { stripVTControlCharacters } from 'node:util';
import { nearest } from '../base/text.ts';
import { SquadError } from '../schema/error.ts';

export function checkTask(task: string): void {
  if (task.trim() === '')
    throw new SquadError('TASK_EMPTY', 'The task is empty.', {
      suggestions: ['Say in a sentence or more what the agent should do.'],
    });
  checkText(task, 'The task');
}

/**
 * Refuses text that cannot be passed to a program: NUL would end it early, and half a surrogate pair cannot be encoded
 * as UTF-8.
 */
export function checkText(text: string, what: string): void {
  const nul = text.indexOf('\0');
  if (nul >= 0)
    refuse(text, what, nul, 'a NUL character', 'Remove the NUL character: it cannot be passed to a program.');
  if (text.isWellFormed()) return;
  const half = loneSurrogate(text);
  refuse(
    text,
    what,
    half,
    'half of a surrogate pair',
    'Send the whole character, or remove the half: it cannot be encoded as UTF-8.',
  );
}

/** The last non-empty line, in which programs print their answer. */
export function lastLine(output: string): string | null {
  for (const line of output.split(/\r\n|\n|\r/).reverse()) if (line.trim() !== '') return line.trim();
  return null;
}

function refuse(text: string, what: string, index: number, found: string, way: string): never {
  const before = text.slice(0, index);
  const line = before.split('\n').length;
  const column = index - before.lastIndexOf('\n');
  throw new SquadError('INVALID_TEXT', `${what} contains ${found} at line ${line}, column ${column}.`, {
    suggestions: [way],
  });
}

function loneSurrogate(text: string): number {
  for (let index = 0; index < text.length; index++) {
    const unit = text.codePointAt(index)!;
    if (unit > 0xffff) index++;
    else if (unit >= 0xd800 && unit <= 0xdfff) return index;
  }
  return -1;
}

/** Null for invalid JSON: another program has written into a file of Squad. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Cuts to at most `max` characters plus `…`; never cuts a character in half. */
export const truncate = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;

const MAX_DESCRIPTION_LENGTH = 16_384;

/** Cuts a description that another server wrote for agents. */
export function cutText(text: string): string {
  if (text.length <= MAX_DESCRIPTION_LENGTH) return text;
  const end = text.slice(0, MAX_DESCRIPTION_LENGTH).isWellFormed()
    ? MAX_DESCRIPTION_LENGTH
    : MAX_DESCRIPTION_LENGTH - 1;
  return `${text.slice(0, end)}\n[… cut here, ${text.length} characters in all …]`;
}

/**
 * The text without control characters (except line ends and tabs), and without characters that are invisible or change
 * how other text looks: zero-width and bidirectional marks, tag characters, variation selectors, private and broken
 * characters.
 */
export const withoutHidden = (text: string): string =>
  // Fast path: most texts are printable ASCII.
  /^[\n\t -~]*$/.test(text)
    ? text
    : text.replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}\u2028\u2029]/gu, '');

/** Terminal output as plain text. */
export const plainText = (text: string): string => withoutHidden(stripVTControlCharacters(text));

/**
 * Number of characters that are searched for a sentence. A longer "sentence" is a table or a list, and is cut for
 * display anyway.
 */
const MAX_READ_CHARS = 2_000;

/** The first sentence of a Markdown text, without headings, fences and list marks. Empty if there is none. */
export function firstSentence(markdown: string): string {
  const lines = markdown.slice(0, MAX_READ_CHARS).split(/\r?\n/).map(withoutMarks);
  const prose = lines.findIndex(({ kind }) => kind === 'prose');
  if (prose < 0) return lines.find(({ text }) => text !== '')?.text ?? '';
  const end = lines.findIndex(({ kind }, at) => at > prose && kind !== 'prose');
  const paragraph = lines
    .slice(prose, end < 0 ? undefined : end)
    .map(({ text }) => text)
    .join(' ');
  return SENTENCE.exec(paragraph)?.[0] ?? paragraph;
}

/** Matches up to the first full stop that ends a sentence, which is not that of "e.g." or "3.5". */
const SENTENCE =
  /^.+?(?:(?<!\b(?:e\.g|i\.e|vs|etc|cf|approx))[.!?\u2026]["')\]]*(?=\s|$)|[\u3002\uff01\uff1f])/s;

function withoutMarks(line: string): { kind: 'prose' | 'heading' | 'none'; text: string } {
  const heading = /^\s*#{1,6}\s+(.*)$/.exec(line)?.[1];
  if (heading !== undefined) return { kind: 'heading', text: heading.trim() };
  if (/^\s*(```|~~~|[-*_=]{3,}\s*$)/.test(line)) return { kind: 'none', text: '' };
  const text = line.replace(/^\s*(?:>\s*)*(?:[-*+]\s+|\d+[.)]\s+)?/, '').trim();
  return { kind: text === '' ? 'none' : 'prose', text };
}

/** Suggests similar names. Null if there are none. */
export function didYouMean(wrong: string, names: readonly string[]): string | null {
  const near = nearest(wrong, names);
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : null;
}
