/**
 * Agents' text as it can be shown: a control character, or one that turns the direction of what follows, is seen instead of obeyed.
 * Line ends and tabs stay.
 */
export function harmless(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/(?![\n\t])[\p{Cc}]/gu, pictureOf)
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

function pictureOf(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}
