/** More words than this say no more about what is looked for. */
const MOST_TERMS = 32;
const LOOKED_AT = 4_000;
/** In quotes; or a word, with a star when only its beginning is meant. */
const TERM = /"([^"]*)"|[^\s"]+/g;
const OPERATORS = new Set(['AND', 'OR', 'NOT', 'NEAR']);

/** The terms of somebody's query, each in the one form that is always a string to FTS5. */
export function searchTerms(query: string): string[] {
  const terms = new Set<string>();
  for (const [whole, phrase] of query.slice(0, LOOKED_AT).toWellFormed().matchAll(TERM)) {
    const words = (phrase ?? whole).match(/[\p{L}\p{N}\p{M}_]+/gu);
    if (!words || (phrase === undefined && OPERATORS.has(whole))) continue;
    const isBeginning = phrase === undefined && /[\p{L}\p{N}]\*+\W*$/u.test(whole);
    terms.add(`"${words.join(' ')}"${isBeginning ? '*' : ''}`);
    if (terms.size === MOST_TERMS) break;
  }
  return [...terms];
}
