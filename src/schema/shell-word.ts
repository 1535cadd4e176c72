/**
 * A text as one word of a command that somebody may paste into a shell. Every command that is suggested quotes what it
 * inserts with this: names of files, branches and roles come from elsewhere, and `$(…)` in one must not run.
 */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!CONTROL.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  // A line feed would end the command where it is shown, and other control characters are not shown as they are.
  const escaped = word.replace(/[\\']/g, '\\$&').replace(new RegExp(CONTROL, 'gu'), bytesOf);
  return `$'${escaped}'`;
}

/** As bytes: what a code point beyond ASCII becomes depends on the locale. */
const bytesOf = (sign: string): string =>
  [...new TextEncoder().encode(sign)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('');

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
