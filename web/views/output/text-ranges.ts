/** Where words are in a text, as [from, to]; what is empty is left out. */
export function textRanges(
  text: string,
  { q, isRegex, isCaseSensitive }: { q: string; isRegex: boolean; isCaseSensitive: boolean },
  most = 100,
): [number, number][] {
  const pattern = new RegExp(
    isRegex ? q : q.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'),
    isCaseSensitive ? 'gu' : 'giu',
  );
  const ranges: [number, number][] = [];
  for (const match of text.matchAll(pattern)) {
    if (match[0] !== '') ranges.push([match.index, match.index + match[0].length]);
    if (ranges.length === most) break;
  }
  return ranges;
}
