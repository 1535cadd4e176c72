import { SquadError } from '../../../schema/error.ts';
import type { Entry } from './clients.ts';

/**
 * Editing somebody else's file: every byte that is not ours stays. `text` may be empty (a new file).
 * All of it throws CONFIG_INVALID on text that does not parse.
 */
export interface ConfigFormat {
  /** Sets the fields of `entry`; fields the user added to it stay. */
  put(text: string, path: string[], entry: Entry): string;
  /** Takes the whole entry out; the same text when there is none. */
  remove(text: string, path: string[]): string;
  /** The names of the fields the entry has now; null without an entry. */
  fields(text: string, path: string[]): string[] | null;
}

/** As the file does it; a new file has plain line feeds. */
export const lineEnding = (text: string): string => (/\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n');

export interface Edit {
  at: number;
  /** Characters taken out from there on. */
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

/** The part of `text` that must go for `[start, end)` to leave no empty line behind. */
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
    suggestions: [`Mend line ${line} of the file, then run the command again. Nothing was written.`],
  });
}
