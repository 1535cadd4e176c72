/** Controls but line ends and tabs, and what takes no room or breaks a line unseen; of variants of a character the marks stay. */
const UNSEEN =
  /(?![\n\t]|[\ufe00-\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu;
const JOINERS = new Set(['\u200c', '\u200d']);
/** Scripts that need a joiner to be spelled right have no capitals; and one emoji can be several. */
const BEFORE_JOINER = /[\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u;
const AFTER_JOINER = /^[\p{Lo}\p{M}\p{Extended_Pictographic}]/u;

/**
 * Somebody's text with all of it to be seen: a control character, or one that turns the direction of what follows or takes no
 * room, is a picture of itself instead of being obeyed. Nothing is left out. Line ends and tabs stay.
 */
export function visibleText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replace(UNSEEN, (char: string, at: number, whole: string) =>
      JOINERS.has(char) && joins(whole, at) ? char : pictureOf(char),
    );
}

/** The same on one line. */
export const visibleLine = (text: string): string => visibleText(text).replace(/\s+/g, ' ').trim();

const joins = (whole: string, at: number): boolean =>
  BEFORE_JOINER.test(whole.slice(Math.max(0, at - 2), at)) && AFTER_JOINER.test(whole.slice(at + 1, at + 3));

function pictureOf(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}
