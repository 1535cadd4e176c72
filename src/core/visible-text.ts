import { stripVTControlCharacters } from 'node:util';

/** Text of a description beyond this is not read by anybody. */
const LONGEST = 16_384;

/** What another server wrote for agents to read, not without end. */
export function cutText(text: string): string {
  if (text.length <= LONGEST) return text;
  const end = text.slice(0, LONGEST).isWellFormed() ? LONGEST : LONGEST - 1;
  return `${text.slice(0, end)}\n[… cut here, ${text.length} characters in all …]`;
}

/**
 * Without control characters but line ends and tabs, and without what is not seen or makes other text look otherwise:
 * zero-width and bidirectional marks, tag characters, variation selectors, private and broken characters.
 */
export const withoutHidden = (text: string): string =>
  // Nothing but printable ASCII and line ends is the rule, and quick to see.
  /^[\n\t -~]*$/.test(text)
    ? text
    : text.replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}\u2028\u2029]/gu, '');

/** What a program wrote for a terminal, as plain text: whoever prints it takes nothing more out of it. */
export const plainWords = (text: string): string => withoutHidden(stripVTControlCharacters(text));
