import { type Context, createContext, Script } from 'node:vm';

export interface LineQuery {
  q: string;
  isRegex: boolean;
  isCaseSensitive: boolean;
}

export interface LineMatcher {
  /** For plain words: whether any line of this text could match. Null: only line by line can tell. */
  mayMatch: ((text: string) => boolean) | null;
  /** For each line where its first match starts, or -1. Throws `PATTERN_TOO_SLOW`. */
  match(lines: readonly string[]): number[];
}

const BATCH_MS = 200;
let sandbox: Context | null = null;
const SEARCH = new Script('lines.map(line => line.search(pattern))');

/** Throws `PATTERN_INVALID` for what is no regular expression. */
export function createLineMatcher({ q, isRegex, isCaseSensitive }: LineQuery): LineMatcher {
  if (isRegex) return patternMatcher(q, isCaseSensitive);
  if (isCaseSensitive)
    return { mayMatch: text => text.includes(q), match: lines => lines.map(line => line.indexOf(q)) };
  const words = new RegExp(q.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');
  return { mayMatch: text => words.test(text), match: lines => lines.map(line => line.search(words)) };
}

/** A pattern can take for ever on one short line, and only V8 itself can be told to stop: a script can have a time limit. */
function patternMatcher(q: string, isCaseSensitive: boolean): LineMatcher {
  const pattern = compiled(q, isCaseSensitive ? 'u' : 'iu');
  return {
    mayMatch: null,
    match(lines) {
      // Making one takes longer than most searches, and only one search is at work at a time.
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
