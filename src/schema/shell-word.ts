/**
 * Quotes a text as one word of a shell command. All suggested commands use this for inserted text: names of files,
 * branches and roles are chosen by others, and `$(…)` in such a name must not run when a user pastes the command.
 */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!CONTROL.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  // Control characters are escaped, because a line feed would end the command and other control characters are not
  // shown.
  const escaped = word.replace(/[\\']/g, '\\$&').replace(new RegExp(CONTROL, 'gu'), bytesOf);
  return `$'${escaped}'`;
}

/** Escapes a character as bytes, because the meaning of `\u` escapes beyond ASCII depends on the locale. */
const bytesOf = (sign: string): string =>
  [...new TextEncoder().encode(sign)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('');

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
