/**
 * PostgreSQL cannot store NUL in text. NUL is stored as this private-use character followed by `0`. The private-use
 * character itself is stored twice.
 */
const ESCAPE = '\uE000';
const ESCAPED = new RegExp(`${ESCAPE}[0${ESCAPE}]`, 'g');

/** Escapes a text, or the texts of an array. Other values stay the same. */
export function toStored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toStored);
  if (typeof value !== 'string' || !(value.includes('\0') || value.includes(ESCAPE))) return value;
  return value.replaceAll(ESCAPE, ESCAPE + ESCAPE).replaceAll('\0', `${ESCAPE}0`);
}

export const fromStored = (text: string): string =>
  text.includes(ESCAPE) ? text.replace(ESCAPED, pair => (pair[1] === '0' ? '\0' : ESCAPE)) : text;
