/**
 * Whether the whole text is as the pattern says; `*` stands for any run of characters, also none, and everything else for
 * itself. Takes the pieces between stars from left to right: no pattern makes it go back.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces[0]!;
  if (pieces.length === 1) return first === text;
  const last = pieces.at(-1)!;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false;
  const end = text.length - last.length;
  let from = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const at = text.indexOf(piece, from);
    if (at < 0 || at + piece.length > end) return false;
    from = at + piece.length;
  }
  return true;
}
