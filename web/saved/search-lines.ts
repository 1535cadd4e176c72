import { ApiError } from '../state/api.ts';
import { AnsiParser } from '../ui/ansi.ts';
import type { SavedOutput } from './saved-output.ts';

export interface LineQuery {
  q: string;
  isRegex?: boolean | undefined;
  isCaseSensitive?: boolean | undefined;
  after?: number | undefined;
  limit?: number | undefined;
  readable?: boolean | undefined;
}

const AROUND = 200;

/** Lines with these words in them, colours taken out. */
export function searchLines(output: SavedOutput, query: LineQuery) {
  const pattern = patternOf(query);
  const matches = [];
  for (const { line, offset, text } of output.lines(query.after ?? 0, query.readable ?? false)) {
    if (matches.length >= (query.limit ?? 100)) return { matches, next: offset, isComplete: false };
    const plain = withoutColours(text);
    const column = plain.search(pattern);
    if (column === -1) continue;
    const from = Math.max(0, column - AROUND);
    matches.push({ line, offset, column, text: plain.slice(from, column + AROUND).toWellFormed() });
  }
  return { matches, next: null, isComplete: true };
}

function patternOf({ q, isRegex, isCaseSensitive }: LineQuery): RegExp {
  const flags = isCaseSensitive ? 'u' : 'iu';
  try {
    return new RegExp(isRegex ? q : q.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags);
  } catch (thrown) {
    throw new ApiError('INVALID_INPUT', `Not a regular expression: ${(thrown as Error).message}`);
  }
}

function withoutColours(text: string): string {
  const parser = new AnsiParser();
  parser.push(text);
  return parser.open.map(span => span.text).join('');
}
