import { SquadError } from '../../../schema/error.ts';
import type { Entry, EntryValue } from './clients.ts';

/**
 * Edits a file of another program: every byte outside Squad's entry stays the same. `text` may be empty (a new file).
 * Every method throws CONFIG_INVALID on text that does not parse.
 */
export interface ConfigFormat {
  /** Sets the fields of `entry`; other fields in the entry stay. */
  put(text: string, path: string[], entry: Entry): string;
  /** Removes the entry; returns the text unchanged if it has none. */
  remove(text: string, path: string[]): string;
  /** Field names of the entry. Null if there is no entry. */
  fields(text: string, path: string[]): string[] | null;
}

/** The line ending of the file; LF for a new one. */
export const lineEnding = (text: string): string => (/\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n');

/** Indentation of the line at this offset. */
export const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';

/**
 * The fields of an entry and of its nested table (the environment). Each is set on its own, so that the user's fields
 * stay.
 */
export const leaves = (entry: Entry): [keys: string[], value: EntryValue][] =>
  Object.entries(entry).flatMap(([key, value]): [string[], EntryValue][] =>
    typeof value === 'object' && !Array.isArray(value)
      ? Object.entries(value).map(([name, inner]) => [[key, name], inner])
      : [[[key], value]],
  );

export interface Edit {
  at: number;
  /** Number of characters of the old text to remove. */
  cut?: number;
  text?: string;
}

export function applyEdits(text: string, edits: Edit[]): string {
  return edits
    .toSorted((a, b) => b.at - a.at)
    .reduce(
      (result, { at, cut = 0, text: added = '' }) => result.slice(0, at) + added + result.slice(at + cut),
      text,
    );
}

/** Extends `[start, end)` so that removing it leaves no empty line. */
export function wholeLines(text: string, start: number, end: number): [number, number] {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const rest = /^[ \t]*(?:\r?\n|$)/.exec(text.slice(end));
  const alone = text.slice(lineStart, start).trim() === '' && rest !== null;
  return alone ? [lineStart, end + rest[0].length] : [start, end];
}

export function configInvalid(text: string, offset: number, problem: string): SquadError {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  return new SquadError('CONFIG_INVALID', `line ${line}, column ${column}: ${problem}`, {
    suggestions: [`Fix line ${line} of the file, then run the command again. Nothing was written.`],
  });
}
