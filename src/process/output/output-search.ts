import type { FileHandle } from 'node:fs/promises';
import { type Context, createContext, Script } from 'node:vm';
import { withoutColours } from '../../base/text.ts';
import { newlinesIn } from './line-index.ts';
import { openRegular, readFully } from './regular-file.ts';

interface LineQuery {
  q: string;
  isRegex: boolean;
  isCaseSensitive: boolean;
}

interface LineMatcher {
  /** Whether any line of this text could match. Null for a regular expression, which must be tried on each line. */
  mayMatch: ((text: string) => boolean) | null;
  /** For each line, the column of the first match or -1. Throws `PATTERN_TOO_SLOW`. */
  match(lines: readonly string[]): number[];
}

const BATCH_MS = 200;
let sandbox: Context | null = null;
const SEARCH = new Script('lines.map(line => line.search(pattern))');

/** Throws `PATTERN_INVALID`. */
function createLineMatcher({ q, isRegex, isCaseSensitive }: LineQuery): LineMatcher {
  if (isRegex) return patternMatcher(q, isCaseSensitive);
  if (isCaseSensitive)
    return { mayMatch: text => text.includes(q), match: lines => lines.map(line => line.indexOf(q)) };
  const words = new RegExp(q.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');
  return { mayMatch: text => words.test(text), match: lines => lines.map(line => line.search(words)) };
}

/** A regular expression can run forever on one short line. Only a `vm` script has a time limit that stops it. */
function patternMatcher(q: string, isCaseSensitive: boolean): LineMatcher {
  const pattern = compiled(q, isCaseSensitive ? 'u' : 'iu');
  return {
    mayMatch: null,
    match(lines) {
      // All searches share one context: creating a context takes longer than most searches, and only one search runs
      // at a time.
      sandbox ??= createContext({});
      Object.assign(sandbox, { pattern, lines });
      try {
        return [...SEARCH.runInContext(sandbox, { timeout: BATCH_MS })];
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
        throw Object.assign(new Error('The pattern takes too long on these lines of the output'), {
          code: 'PATTERN_TOO_SLOW',
        });
      } finally {
        Object.assign(sandbox, { pattern: null, lines: null });
      }
    },
  };
}

function compiled(q: string, flags: string): RegExp {
  try {
    return new RegExp(q, flags);
  } catch (thrown) {
    throw Object.assign(new Error((thrown as Error).message), { code: 'PATTERN_INVALID' });
  }
}

const shownLine = (line: string): string => withoutColours(line).replace(/\r$/, '');

/** Same shape as the core's type `OutputQuery`. */
export interface OutputQuery extends LineQuery {
  /** Offset where the search begins. It must be the start of a line. */
  after: number;
  limit: number;
  budgetMs: number;
  /** Extracts the text to search from a line. Null if the line itself is searched. */
  words: ((line: string) => string) | null;
}

/** Same shape as the core's type `OutputMatches`. Lines are counted from where the search began. */
export interface OutputMatches {
  matches: { line: number; offset: number; text: string; column: number }[];
  next: number | null;
}

const NEWLINE = 0x0a;
const CHUNK = 256 * 1024;
/** Maximum length of a searched line. Of a longer line only the beginning is searched. */
const MAX_LINE_LENGTH = 1024 * 1024;
/**
 * Maximum length of a line for a regular expression. Lower than for plain text, because an expression may start a new
 * attempt at every character.
 */
const MAX_PATTERN_LINE_LENGTH = 10_000;
const AROUND = 400;
const BEFORE = 120;

/** Searches a file of any size line by line, with one chunk in memory, until the limit, the time budget or the end is reached. */
export async function searchOutput(path: string, query: OutputQuery): Promise<OutputMatches> {
  const matcher = createLineMatcher(query);
  const file = await openRegular(path);
  if (!file) return { matches: [], next: null };
  try {
    return await search(file, matcher, query);
  } finally {
    await file.close();
  }
}

async function search(file: FileHandle, matcher: LineMatcher, query: OutputQuery): Promise<OutputMatches> {
  const end = performance.now() + query.budgetMs;
  const { size } = await file.stat();
  const found: OutputMatches['matches'] = [];
  let at = query.after;
  let line = 1;
  while (at < size) {
    const { bytes, next } = await wholeLines(file, at, size);
    for (const match of matchesIn(bytes, matcher, query)) {
      found.push({ ...match, line: line + match.line, offset: at + match.offset });
      if (found.length === query.limit) {
        const after = bytes.indexOf(NEWLINE, match.offset);
        const going = after < 0 ? next : at + after + 1;
        return { matches: found, next: going < size ? going : null };
      }
    }
    line += newlinesIn(bytes);
    if (next > at + bytes.length) line++;
    at = next;
    if (performance.now() > end) break;
  }
  return { matches: found, next: at < size ? at : null };
}

/** Searches at least one line from `at` on. Returns where the next line starts. A line that is too long is cut. */
async function wholeLines(
  file: FileHandle,
  at: number,
  size: number,
): Promise<{ bytes: Buffer; next: number }> {
  for (let length = CHUNK; ; length *= 2) {
    const bytes = await readFully(file, Buffer.allocUnsafe(Math.min(length, size - at)), at);
    const last = bytes.lastIndexOf(NEWLINE);
    if (last >= 0) return { bytes: bytes.subarray(0, last + 1), next: at + last + 1 };
    if (at + bytes.length >= size || bytes.length === 0) return { bytes, next: size };
    if (length >= MAX_LINE_LENGTH) return { bytes, next: await endOfLine(file, at + bytes.length, size) };
  }
}

async function endOfLine(file: FileHandle, from: number, size: number): Promise<number> {
  const chunk = Buffer.allocUnsafe(MAX_LINE_LENGTH);
  for (let at = from; at < size; at += chunk.length) {
    const bytes = await readFully(file, chunk, at);
    const end = bytes.indexOf(NEWLINE);
    if (end >= 0) return at + end + 1;
    if (bytes.length === 0) break;
  }
  return size;
}

/** Yields the matches in these bytes. Lines count from 0, offsets from the start of the bytes. */
function* matchesIn(
  bytes: Buffer,
  matcher: LineMatcher,
  { words, isRegex }: OutputQuery,
): Generator<{ line: number; offset: number; text: string; column: number }> {
  // Most of a log does not match, so a whole chunk of lines is checked at once.
  if (!words && matcher.mayMatch && !matcher.mayMatch(withoutColours(bytes.toString('utf8')))) return;
  const lines: string[] = [];
  const offsets: number[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    const text = bytes.toString('utf8', start, end);
    const shown = words ? words(text) : shownLine(text);
    lines.push(isRegex ? shown.slice(0, MAX_PATTERN_LINE_LENGTH) : shown);
    offsets.push(start);
    start = end + 1;
  }
  const columns = matcher.match(lines);
  for (const [line, column] of columns.entries())
    if (column >= 0) yield { line, offset: offsets[line]!, text: around(lines[line]!, column), column };
}

const around = (line: string, column: number): string => {
  const from = Math.max(0, Math.min(column - BEFORE, line.length - AROUND));
  return line.slice(from, from + AROUND).toWellFormed();
};
