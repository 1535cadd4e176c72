const ESCAPES: Record<string, string> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '"': '\\"', '\\': '\\\\' };
const UNUSUAL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"\\]/u;

/** A path for people, from its bytes (one character each): as it is, or quoted as git does when it would not be plain to read. */
export function pathText(bytes: string): string {
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(buffer);
  if (isText && !UNUSUAL.test(text)) return text;
  return `"${[...(isText ? text : bytes)].map(each => escaped(each, isText)).join('')}"`;
}

/** The same as an argument for a program, or null when it has no UTF-8 form and so cannot be one. */
export function pathArgument(bytes: string): string | null {
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  return Buffer.from(text, 'utf8').equals(buffer) ? text : null;
}

export const pathBytes = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')]);

function escaped(character: string, isText: boolean): string {
  const known = ESCAPES[character];
  if (known) return known;
  const isPlain = isText ? !UNUSUAL.test(character) : character >= ' ' && character <= '~';
  if (isPlain) return character;
  const bytes = Buffer.from(character, isText ? 'utf8' : 'latin1');
  return [...bytes].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
